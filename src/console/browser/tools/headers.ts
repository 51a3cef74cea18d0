/** The headers that a framed tool sends along: the console around it knows the token. */

export function headers(): Record<string, string> {
  return window.parent.duetHeaders?.() ?? {};
}
