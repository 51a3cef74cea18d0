/** A record with a field of every kind that is stored in a way of its own, and values of it. */

export const fields = `id: ID!  text: String!  whole: Int  long: BigInt  price: Decimal @decimal(scale: 2)  share: Float
  done: Boolean  at: DateTime  on: Date  who: UUID  more: JSON  tags: [String!]  mode: Mode`;

export const texts = ['', 'NULL', 'a,"b"', '\\', '{}', "it's", 'Zeile\n2', 'É 🙂', '$1'];

/** Each record is another one; of every kind of value there is one that is null, and one that is not. */
export function inputOf(at: number) {
  const odd = at % 2 === 1;
  return {
    text: `${at} ${texts[at % texts.length]}`,
    whole: odd ? -at : null,
    long: odd ? null : `900719925474099${at % 10}`,
    price: odd ? `${at}.50` : null,
    share: odd ? null : at / 3,
    done: at % 3 === 0 ? null : odd,
    at: odd ? `2026-01-02T03:04:05.0${10 + (at % 90)}Z` : null,
    on: odd ? null : `2026-01-${10 + (at % 20)}`,
    who: odd ? `00000000-0000-4000-8000-0000000000${10 + (at % 90)}` : null,
    more: odd ? null : { at, texts: [texts[at % texts.length]] },
    tags: at % 3 === 0 ? null : [texts[at % texts.length], 'x'],
    mode: odd ? 'ON' : null,
  };
}
