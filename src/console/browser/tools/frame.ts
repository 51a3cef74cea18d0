/** What a framed tool has from the console around it: the token, and whether it is dark. */

export function headers(): Record<string, string> {
  return window.parent.duetHeaders?.() ?? {};
}

export function isDark(): boolean {
  const { theme } = window.parent.document.documentElement.dataset;
  return theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
}
