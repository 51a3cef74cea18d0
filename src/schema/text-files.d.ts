/** Text files that are imported as strings, so that a single-file executable carries them. */
declare module '*.graphql' {
  const text: string;
  export default text;
}
