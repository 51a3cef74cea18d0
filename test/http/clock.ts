/** A clock that stands until a test moves it on: timers and times of day, of everything within this process. */

import { jest } from 'bun:test';

export class Clock implements Disposable {
  constructor() {
    jest.useFakeTimers();
  }

  advance(ms: number): void {
    jest.advanceTimersByTime(ms);
  }

  [Symbol.dispose](): void {
    // What is wound up now would never strike again: the clock of bodies, which all applications share, stops first.
    this.advance(1000);
    jest.useRealTimers();
  }
}
