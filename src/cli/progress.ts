/** Says how far long work is: on a terminal by a bar that is drawn again and again, elsewhere by a line now and then. */

const REDRAW_MS = 100;
const TELL_MS = 1000;
const WIDTH = 30;

export interface Audience {
  /** Takes a line. */
  readonly tell: (line: string) => void;
  /** Takes text for a terminal; undefined where there is none. */
  readonly redraw: ((text: string) => void) | undefined;
  /** How wide it is. */
  readonly columns: number | undefined;
}

export class Progress {
  readonly #audience: Audience;
  readonly #words: (done: number) => string;
  readonly #begun = Date.now();
  /** What was begun a moment ago needs no telling. */
  #told: number | undefined;
  #isDrawn = false;

  /** `words` say what was done: "exported 12 records". */
  constructor(audience: Audience, words: (done: number) => string) {
    this.#audience = audience;
    this.#words = words;
  }

  /** `all`: how much there is to do, where that is known. */
  reached(done: number, all?: number): void {
    const { redraw, tell, columns = 80 } = this.#audience;
    const now = Date.now();
    this.#told ??= now;
    if (now - this.#told < (redraw ? REDRAW_MS : TELL_MS)) return;
    this.#told = now;
    if (!redraw) tell(`${this.#words(done)} …`);
    if (!redraw) return;
    this.#isDrawn = true;
    const line = [...bar(done, all), this.#words(done), `${Math.round((now - this.#begun) / 1000)} s`].join(
      '  ',
    );
    redraw(`\r\x1b[K${line.slice(0, columns - 1)}`);
  }

  done(done: number): void {
    if (this.#isDrawn) this.#audience.redraw?.('\r\x1b[K');
    this.#audience.tell(this.#words(done));
  }
}

function bar(done: number, all: number | undefined): string[] {
  if (!all) return [];
  const share = Math.min(1, done / all);
  const full = Math.floor(share * WIDTH);
  return [`[${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}]`, `${Math.floor(share * 100)} %`.padStart(5)];
}
