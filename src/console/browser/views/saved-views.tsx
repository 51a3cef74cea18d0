/** Lists that somebody wants to come back to: a name for an address, kept in this browser; the address itself is to share. */

import { signal } from '@preact/signals';
import type { ListAsk } from '../ask.ts';
import { remember, remembered } from '../session.ts';
import { listLink } from './list-place.ts';
import { Copy, focusFirst, Icon } from './parts.tsx';

interface SavedView {
  readonly type: string;
  readonly name: string;
  readonly link: string;
}

export const savedViews = signal<readonly SavedView[]>(read());

function read(): SavedView[] {
  try {
    return JSON.parse(remembered('views') ?? '[]');
  } catch {
    return [];
  }
}

function keep(views: readonly SavedView[]): void {
  savedViews.value = views;
  remember('views', JSON.stringify(views));
}

/** What was typed and not saved, by type: it is there again when the panel is. */
const names = signal<Readonly<Record<string, string>>>({});

export function Views({ ask, onClose }: { ask: ListAsk; onClose: () => void }) {
  const type = ask.resource.name;
  const name = names.value[type] ?? '';
  const call = (text: string) => {
    names.value = { ...names.value, [type]: text };
  };
  const link = listLink({ ...ask, after: undefined, before: undefined });
  const isOther = (view: SavedView, called: string) => view.type !== type || view.name !== called;
  const save = (event: Event) => {
    event.preventDefault();
    const called = name.trim();
    if (called === '') return;
    keep([...savedViews.value.filter((view) => isOther(view, called)), { type, name: called, link }]);
    call('');
  };
  const mine = savedViews.value.filter((view) => view.type === type);
  return (
    <form ref={focusFirst} class="filter" aria-label="Views" onSubmit={save}>
      {mine.length > 0 && (
        <ul class="chips">
          {mine.map((view) => (
            <li key={view.name}>
              <a class="view" href={view.link}>
                {view.name}
              </a>
              <button
                type="button"
                aria-label={`Delete the view ${view.name}`}
                onClick={() => keep(savedViews.value.filter((each) => isOther(each, view.name)))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <p class="quiet small">
        A view is the filter, search, order and columns of this list. It stays in this browser; its link shows
        others the same.
      </p>
      <div class="tools">
        <input
          aria-label="Name of this view"
          placeholder="Name of this view"
          value={name}
          onInput={(event) => call(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          {mine.some((view) => !isOther(view, name.trim())) ? 'Replace' : 'Save'}
        </button>
        <Copy text={() => location.origin + location.pathname + link} label="Copy link" />
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </form>
  );
}
