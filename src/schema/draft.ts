/** The Model while it is being read: the same shapes, still writable, and the means to report faults. */

import type { Location } from 'graphql';
import type { AppliedDirectives, ReportAt, readDirectives } from './directives.ts';
import type { AllowRule, CheckRule, Described, Place, SchemaFault } from './model.ts';

export type Draft<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

interface DescribableNode {
  readonly loc?: Location | undefined;
  readonly name: { readonly value: string };
  readonly description?: { readonly value: string } | undefined;
  readonly directives?: Parameters<typeof readDirectives>[0];
}

export class Faults {
  readonly found: SchemaFault[] = [];

  readonly at: ReportAt = (node, message) => this.report(this.place(node), message);

  report(place: Place, message: string): void {
    this.found.push({ line: place.line, column: place.column, message });
  }

  place(node: { readonly loc?: unknown }): Place {
    const { line, column } = (node.loc as Location | undefined)?.startToken ?? { line: 1, column: 1 };
    return { line, column };
  }

  /** A description precedes its name: a fault of the thing belongs to the name. */
  described(node: DescribableNode, directives: AppliedDirectives): Described {
    const deprecated = directives.get('deprecated')?.[0].arguments['reason'];
    return {
      name: node.name.value,
      place: this.place(node.name as { loc?: unknown }),
      description: node.description?.value,
      deprecated: typeof deprecated === 'string' ? deprecated : undefined,
    };
  }

  checkRules(directives: AppliedDirectives): CheckRule[] {
    return (directives.get('check') ?? []).map((applied) => ({
      place: this.place(applied.node),
      where: applied.arguments['where'],
      message: String(applied.arguments['message']),
    }));
  }

  allowRules(directives: AppliedDirectives): AllowRule[] {
    for (const { node, arguments: given } of directives.get('allow') ?? [])
      if (given['to'] === undefined) this.at(node, '"@allow" says not what it allows. Add: to: [READ]');
    return this.allowed(directives);
  }

  /** The same where there is only one thing to be allowed. */
  allowed(directives: AppliedDirectives): AllowRule[] {
    return (directives.get('allow') ?? []).map((applied) => ({
      place: this.place(applied.node),
      to: (applied.arguments['to'] ?? []) as AllowRule['to'],
      role: applied.arguments['role'] as string | undefined,
      where: applied.arguments['where'],
      check: applied.arguments['check'],
    }));
  }
}

/** What the file says of something, and what follows from its directives: a paragraph each. */
export function told(parts: readonly (string | undefined)[]): string | undefined {
  const given = parts.filter((part) => part !== undefined);
  return given.length > 0 ? given.join('\n\n') : undefined;
}
