/** Stylesheets that scripts bring along: in the bundle, or as a file under the URL that the import gives. */
declare module '*.css' {
  const url: string;
  export default url;
}
