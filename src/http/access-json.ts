/** What the caller may do, for programs that offer only that: the rules of the file, as far as they are known without a record. */

import { ruled } from '../access/explain.ts';
import type { Engine } from '../engine/engine.ts';
import type { Action, Model } from '../schema/model.ts';
import { answer } from './answer.ts';
import type { Handler } from './exchange.ts';

/** `{"publish":["RUN"],"Post":["READ","CREATE"],"Post.note":["READ"]}`: what is not listed is refused, whichever the record. */
export function accessOf({ resources, actions }: Model, engine: Engine): Handler {
  return ({ caller }) => {
    const runs = actions.map((action) => [action.name, engine.mayRun(caller, action) ? ['RUN'] : []]);
    const does = resources.flatMap((resource) => {
      const offered = (action: Action) => !isWrite(action) || resource.operations.has(action);
      const actions = engine.actions(caller, resource).filter(offered);
      const uses = ruled(resource).map((field) => [
        `${resource.name}.${field.name}`,
        engine.uses(caller, field).filter((action) => actions.includes(action)),
      ]);
      return [[resource.name, actions], ...uses];
    });
    return answer(200, JSON.stringify(Object.fromEntries([...runs, ...does])));
  };
}

function isWrite(action: Action): action is 'CREATE' | 'UPDATE' | 'DELETE' {
  return action === 'CREATE' || action === 'UPDATE' || action === 'DELETE';
}
