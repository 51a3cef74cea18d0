/** Unicode's full case folding (Unicode 17), shipped here so that no database and no runtime decides which texts are equal. */

import { normalized } from './normal-forms.ts';

/** Whose table it is: text that was folded by another one is folded anew. */
export const UNICODE = 17;

/**
 * Characters that fold to one other, in runs: how far each begins behind the one before, how many follow, in which step,
 * and how far away what they fold to is; in base 36. From the lines C of Unicode's CaseFolding.txt.
 */
const SINGLE = `
  1t,p,1,w 2j,0,1,lj b,m,1,w 2,6,1,w y,n,2,1 4,2,2,1 3,7,2,1 3,m,2,1 2,0,1,-3d 1,2,2,1 2,0,1,-7g 2,0,1,5u
  1,1,2,1 2,0,1,5q 1,0,1,1 2,1,1,5p 1,0,1,1 3,0,1,27 1,0,1,5m 1,0,1,5n 1,0,1,1 2,0,1,5p 1,0,1,5r 2,0,1,5v
  1,0,1,5t 1,0,1,1 4,0,1,5v 1,0,1,5x 2,0,1,5y 1,2,2,1 2,0,1,62 1,0,1,1 2,0,1,62 3,0,1,1 2,0,1,62 1,0,1,1
  2,1,1,61 1,1,2,1 2,0,1,63 1,0,1,1 4,0,1,1 8,0,1,2 1,0,1,1 2,0,1,2 1,0,1,1 2,0,1,2 1,8,2,1 3,8,2,1 3,0,1,2
  1,1,2,1 2,0,1,-2p 1,0,1,-1k 1,j,2,1 2,0,1,-3m 2,8,2,1 8,0,1,8bv 1,0,1,1 2,0,1,-4j 1,0,1,8bs 3,0,1,1
  2,0,1,-5f 1,0,1,1x 1,0,1,1z 1,4,2,1 6v,0,1,38 17,1,2,1 4,0,1,1 9,0,1,38 7,0,1,12 2,2,1,11 2,0,1,1s
  2,1,1,1r 2,g,1,w 2,8,1,w n,0,1,1 d,0,1,8 1,0,1,-u 1,0,1,-p 4,0,1,-f 1,0,1,-m 2,b,2,1 2,0,1,-1i 1,0,1,-1c
  3,0,1,-1o 1,0,1,-1s 2,0,1,1 2,0,1,-7 1,0,1,1 3,2,1,-3m 1,f,1,28 1,v,1,w 1d,g,2,1 a,q,2,1 2,0,1,f 1,6,2,1
  3,1b,2,1 3,11,1,1c 28a,11,1,5ls 2,0,1,5ls 6,0,1,5ls mj,5,1,-8 1oj,0,1,-4su 1,0,1,-4st 1,0,1,-4sk
  1,1,1,-4si 1,0,1,-4sj 1,0,1,-4sc 1,0,1,-4ro 1,0,1,r7n 1,0,1,1 7,16,1,-2bk 3,2,1,-2bk 8x,22,2,1 7,0,1,-1m
  5,1b,2,1 a,7,1,-8 9,5,1,-8 b,7,1,-8 9,7,1,-8 9,5,1,-8 c,3,2,-8 9,7,1,-8 21,1,1,-8 1,1,1,-22 3,0,1,-5j9
  a,3,1,-2e d,1,1,-8 1,1,1,-2s d,1,1,-8 1,1,1,-34 1,0,1,-7 c,1,1,-3k 1,1,1,-3i 8b,0,1,-5st 4,0,1,-6gv
  1,0,1,-6di 7,0,1,s 1a,f,1,g k,0,1,1 mr,p,1,q 1f5,1b,1,1c 1d,0,1,1 2,0,1,-8af 1,0,1,-2xy 1,0,1,-89z 3,2,2,1
  2,0,1,-8bg 1,0,1,-8al 1,0,1,-8bj 1,0,1,-8bi 2,0,1,1 3,0,1,1 9,1,1,-8cf 1,1d,2,1 9,1,2,1 5,0,1,1 nym,m,2,1
  k,d,2,1 3s,6,2,1 4,u,2,1 b,1,2,1 2,0,1,-r9g 1,4,2,1 5,0,1,1 2,0,1,-wmg 3,1,2,1 4,9,2,1 2,0,1,-wn8
  1,0,1,-wnj 1,0,1,-wnf 1,0,1,-wn5 1,0,1,-wn8 2,0,1,-wlu 1,0,1,-wmi 1,0,1,-wlx 1,0,1,ps 1,7,2,1 2,0,1,-1c
  1,0,1,-wn7 1,0,1,-raw 1,1,2,1 2,0,1,-wo7 1,7,2,1 2,0,1,-wu9 p,0,1,1 or,27,1,-tzk ggy,p,1,w xy,13,1,14
  3t,z,1,14 4d,a,1,13 2,e,1,13 2,6,1,13 2,1,1,13 1d7,1e,1,1s 4e,l,1,w 27v,v,1,w gw1,v,1,w 1t,o,1,r o5k,x,1,y
`;

/** Characters that fold to several, such as ß to ss: the lines F. */
const SEVERAL = `
  67,37,37 8g,2x,lj 95,jg,32 ds,2y,lo pc,qh,lk,ld q8,qt,lk,ld 13b,12d,136 61i,2w,mp 61j,38,lk 61k,3b,lm
  61l,3d,lm 61m,2p,ji 61q,37,37 66o,qt,lv 66q,qt,lv,lc 66s,qt,lv,ld 66u,qt,lv,n6 680,64g,qh 681,64h,qh
  682,64i,qh 683,64j,qh 684,64k,qh 685,64l,qh 686,64m,qh 687,64n,qh 688,64g,qh 689,64h,qh 68a,64i,qh
  68b,64j,qh 68c,64k,qh 68d,64l,qh 68e,64m,qh 68f,64n,qh 68g,65c,qh 68h,65d,qh 68i,65e,qh 68j,65f,qh
  68k,65g,qh 68l,65h,qh 68m,65i,qh 68n,65j,qh 68o,65c,qh 68p,65d,qh 68q,65e,qh 68r,65f,qh 68s,65g,qh
  68t,65h,qh 68u,65i,qh 68v,65j,qh 68w,674,qh 68x,675,qh 68y,676,qh 68z,677,qh 690,678,qh 691,679,qh
  692,67a,qh 693,67b,qh 694,674,qh 695,675,qh 696,676,qh 697,677,qh 698,678,qh 699,679,qh 69a,67a,qh
  69b,67b,qh 69e,67k,qh 69f,q9,qh 69g,q4,qh 69i,q9,n6 69j,q9,n6,qh 69o,q9,qh 69u,67o,qh 69v,qf,qh 69w,q6,qh
  69y,qf,n6 69z,qf,n6,qh 6a4,qf,qh 6aa,qh,lk,lc 6ab,qh,lk,ld 6ae,qh,n6 6af,qh,lk,n6 6aq,qt,lk,lc
  6ar,qt,lk,ld 6as,qp,lv 6au,qt,n6 6av,qt,lk,n6 6b6,67w,qh 6b7,qx,qh 6b8,r2,qh 6ba,qx,n6 6bb,qx,n6,qh
  6bg,qx,qh 1dkw,2u,2u 1dkx,2u,2x 1dky,2u,30 1dkz,2u,2u,2x 1dl0,2u,2u,30 1dl1,37,38 1dl2,37,38 1dlf,12s,12u
  1dlg,12s,12d 1dlh,12s,12j 1dli,132,12u 1dlj,12s,12l
`;

let table: ReadonlyMap<number, string> | undefined;

/** Made when a text is folded for the first time: it takes 2 ms, which a start without `@caseless` or `@search` does not have. */
function foldings(): ReadonlyMap<number, string> {
  const made = new Map<number, string>();
  let last = 0;
  for (const run of SINGLE.trim().split(/\s+/)) {
    const [gap = 0, more = 0, step = 0, away = 0] = run
      .split(',')
      .map((digits) => Number.parseInt(digits, 36));
    const first = last + gap;
    last = first + more * step;
    for (let point = first; point <= last; point += step) made.set(point, String.fromCodePoint(point + away));
  }
  for (const entry of SEVERAL.trim().split(/\s+/)) {
    const [point = 0, ...folded] = entry.split(',').map((digits) => Number.parseInt(digits, 36));
    // Put together, where it can be: what is equal by its normal form stays so, and takes a quarter of the time to get there.
    made.set(point, String.fromCodePoint(...folded).normalize('NFC'));
  }
  return made;
}

/** Text that is the same for all that differ in letter case only: NFC, folded, NFC. */
export function folded(text: string): string {
  return normalized(foldedCase(normalized(text, 'NFC')), 'NFC');
}

/** What changes nothing before it: no mark, nor the rest of a Hangul or Kirat Rai letter, nor half of a character. */
const APART = /[^\p{M}\p{Cs}\u1161-\u11c2\u{16d67}\u{16d68}]/u;

/** What `folded(text)` begins with, from no more than so many units of a text that may have a million. */
export function foldedBeginning(text: string, most: number): string {
  let end = most;
  while (end > 0 && end < text.length && !APART.test(String.fromCodePoint(text.codePointAt(end) ?? 0))) end--;
  return folded(text.slice(0, end));
}

/** Without a normal form around it. */
export function foldedCase(text: string): string {
  table ??= foldings();
  let result = '';
  let from = 0;
  for (let at = 0; at < text.length; ) {
    const point = text.codePointAt(at) ?? 0;
    const next = at + (point > 0xffff ? 2 : 1);
    const into = table.get(point);
    // Most characters stay as they are, and are taken over together.
    if (into !== undefined) {
      result += text.slice(from, at) + into;
      from = next;
    }
    at = next;
  }
  return result + text.slice(from);
}

const BEYOND_ASCII = 4;

/** What it takes to fold a text, or to split it into words, in characters of ASCII: others take longer. */
export function effortOf(text: string): number {
  const bytes = Buffer.byteLength(text);
  return bytes === text.length ? bytes : bytes * BEYOND_ASCII;
}
