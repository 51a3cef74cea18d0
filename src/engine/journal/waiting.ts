/** Those who wait until something has come about, or they are told to stop. */

export class Waiting {
  readonly #checks = new Set<() => void>();

  until(hasCome: () => boolean, stopped: AbortSignal): Promise<void> {
    if (hasCome() || stopped.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.#checks.delete(check);
        stopped.removeEventListener('abort', done);
        resolve();
      };
      const check = () => {
        if (hasCome()) done();
      };
      this.#checks.add(check);
      stopped.addEventListener('abort', done);
    });
  }

  /** Something may have come about. */
  wake(): void {
    for (const check of [...this.#checks]) check();
  }
}
