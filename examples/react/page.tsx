/** Tasks that several people look at: whatever one of them changes, all others see at once. */

import { type FormEvent, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { duet, type Task, VersionConflict } from './duet.ts';

/** Where Duet listens; `start.ts` writes it into the page. */
declare const API: string;

const api = duet(API);

/** The tasks as they are now, whoever has changed them; none before the first answer. */
function useTasks(failed: (error: Error) => void): Task[] | undefined {
  const [tasks, setTasks] = useState<Task[]>();
  useEffect(() => api.tasks.live({ orderBy: [{ id: 'ASC' }], first: 100 }, setTasks, failed), [failed]);
  return tasks;
}

function Tasks() {
  const [problem, setProblem] = useState<Error>();
  const tasks = useTasks(setProblem);

  /** What was written is shown when it comes back, with what all others write. */
  async function write(change: Promise<unknown>): Promise<void> {
    setProblem(undefined);
    await change.catch(setProblem);
  }

  async function add(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    await write(api.tasks.create({ title: String(new FormData(form).get('title')) }));
    form.reset();
  }

  return (
    <main>
      <h1>Tasks</h1>
      <p role="alert">{problem && reasonOf(problem)}</p>
      <ul>
        {tasks?.map((task) => (
          <li key={task.id}>
            <label>
              <input
                type="checkbox"
                checked={task.done}
                onChange={() => write(api.tasks.update(task, { done: !task.done }))}
              />{' '}
              {task.title}
            </label>
            <button type="button" onClick={() => write(api.tasks.delete(task))}>
              Delete
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={add}>
        <input name="title" aria-label="A new task" maxLength={200} required />{' '}
        <button type="submit">Add</button>
      </form>
    </main>
  );
}

function reasonOf(problem: Error): string {
  if (problem instanceof VersionConflict) return 'Somebody else has changed it meanwhile: look again.';
  return problem.message;
}

const root = document.querySelector('#root');
if (root) createRoot(root).render(<Tasks />);
