/** What moves the page waits until nobody is in the middle of a click: what was pressed would no longer be there when it is let go. */

let isPressed = false;
let waiting: (() => void)[] = [];

function press(): void {
  isPressed = true;
}

function letGo(): void {
  isPressed = false;
  const due = waiting;
  waiting = [];
  // The click comes behind it.
  setTimeout(() => {
    for (const then of due) then();
  });
}

addEventListener('pointerdown', press, true);
addEventListener('pointerup', letGo, true);
addEventListener('pointercancel', letGo, true);

export function unpressed(then: () => void): void {
  if (isPressed) waiting.push(then);
  else then();
}
