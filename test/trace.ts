/** The system calls of a process, by strace. */

/** Attaches to a process until it is released; resolves when it is attached. */
export async function attach(
  pid: number,
  trace: string,
  ...options: string[]
): Promise<{ release: () => Promise<void> }> {
  const child = Bun.spawn(['strace', '-f', '-s', '64', '-o', trace, '-p', String(pid), ...options], {
    stderr: 'pipe',
    stdout: 'ignore',
  });
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let told = '';
  while (!told.includes('attached')) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`strace: ${told}`);
    told += value;
  }
  reader.releaseLock();
  return {
    release: async () => {
      child.kill('SIGINT');
      await child.exited;
    },
  };
}

/** Only Linux has strace, not every Linux, and not everybody may attach; where everything is checked, it must work. */
async function canTrace(): Promise<boolean> {
  if (!Bun.which('strace')) return false;
  const other = Bun.spawn(['sleep', '10']);
  try {
    const tracing = await attach(other.pid, '/dev/null');
    await tracing.release();
    return true;
  } catch {
    return false;
  } finally {
    other.kill();
  }
}

export const traceable = await canTrace();
if (!traceable && process.env['CI'] === 'true')
  throw new Error('strace must be there and allowed: .ci/run installs it');
if (!traceable) console.warn('without strace, no test can look at system calls');
