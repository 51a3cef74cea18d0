/** What a framed tool has to do with the console around it: the token, what is sent, and whether it is dark. */

export function headers(): Record<string, string> {
  return window.parent.duetHeaders?.() ?? {};
}

const bare = window.fetch.bind(window);

/** As a request of the page around it. */
export async function send(input: RequestInfo, init?: RequestInit): Promise<Response> {
  const response = await bare(input, init);
  window.parent.duetSent?.(response);
  return response;
}

export function isDark(): boolean {
  const { theme } = window.parent.document.documentElement.dataset;
  return theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
}
