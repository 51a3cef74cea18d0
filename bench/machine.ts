/** What a run was made on: figures of two machines are two columns, never one. */

import { cpus, totalmem } from 'node:os';

export const architectures = ['arm64', 'x86-64'] as const;
export type Architecture = (typeof architectures)[number];

export interface Machine {
  readonly architecture: Architecture;
  readonly cores: number;
  /** The name of the processor, where the system tells it. */
  readonly model?: string;
  /** Gigabytes. */
  readonly memory?: number;
  readonly platform: string;
  readonly bun: string;
  /** The day of the run. */
  readonly date: string;
}

export function thisMachine(): Machine {
  const [cpu] = cpus();
  return {
    architecture: process.arch === 'x64' ? 'x86-64' : 'arm64',
    cores: cpus().length,
    ...(cpu?.model && cpu.model !== 'unknown' && { model: cpu.model }),
    memory: Math.round(totalmem() / 2 ** 30),
    platform: process.platform,
    bun: Bun.version,
    date: new Date().toISOString().slice(0, 10),
  };
}

export function named({ architecture, cores, model, memory, platform, bun, date }: Machine): string {
  const processor = `${cores} cores${model === undefined ? '' : ` (${model})`}`;
  return `${processor}${memory === undefined ? '' : `, ${memory} GB`}, ${platform} ${architecture}, Bun ${bun}, ${date}`;
}
