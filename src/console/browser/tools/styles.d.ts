/** Stylesheets that scripts bring along; the bundler puts them into files of their own. */
declare module '*.css';
