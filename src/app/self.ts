/** The command that this process was started with, for starting it again. */

export function isExecutable(): boolean {
  return Bun.main.startsWith('/$bunfs/');
}

export function self(): string[] {
  return isExecutable() ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main];
}
