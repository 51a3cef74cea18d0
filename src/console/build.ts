/** Bundles the console into `dist/console`, compressed, with a module that names its files for the server. */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { PREFIX } from './routes.ts';

const browser = join(import.meta.dir, 'browser');
const out = join(import.meta.dir, '../../dist/console');

/** What runs beside the editor of GraphiQL, by the label that the editor asks for it with. */
const workers = {
  editorWorkerService: 'monaco-editor/esm/vs/editor/editor.worker.js',
  json: 'monaco-editor/esm/vs/language/json/json.worker.js',
  graphql: 'monaco-graphql/esm/graphql.worker.js',
};

/** The console's own files are as small as can be; for the larger ones of GraphiQL and the reference, that would take minutes. */
const BROTLI_BYTES = 128 * 1024;

interface File {
  readonly url: string;
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of the console itself, and not of GraphiQL or the reference. */
  readonly isOwn?: boolean;
}

async function bundle(
  entrypoints: string[],
  entry: string,
  { define, ...others }: Partial<Bun.BuildConfig> = {},
): Promise<File[]> {
  const { outputs } = await Bun.build({
    entrypoints,
    root: browser,
    target: 'browser',
    minify: true,
    splitting: true,
    publicPath: PREFIX,
    naming: { entry, chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    define: { 'process.env.NODE_ENV': '"production"', ...define },
    ...others,
  });
  return Promise.all(
    outputs.map(async (output) => ({
      url: PREFIX + output.path.replace(/^\.\//, ''),
      type: output.type.replace(';charset', '; charset'),
      bytes: new Uint8Array(await output.arrayBuffer()),
    })),
  );
}

/**
 * The console's style sheets as they are written, nested and with `light-dark()`, without comments and spaces. As the bundler writes
 * them, for browsers that could not run the console's scripts, they are a tenth larger.
 */
async function styles(): Promise<Uint8Array<ArrayBuffer>> {
  const page = await Bun.file(join(browser, 'index.html')).text();
  const sheets = [...page.matchAll(/style\/\w+\.css/g)].map(([path]) => Bun.file(join(browser, path)).text());
  const text = (await Promise.all(sheets)).join('');
  return new TextEncoder().encode(
    text
      .replace(/\/\*.*?\*\//gs, '')
      .replace(/\s+/g, ' ')
      .replace(/ ?([{};,>/]) ?/g, '$1')
      .replace(/: /g, ':')
      .replace(/;\}/g, '}')
      .trim(),
  );
}

/** A file that only names what another one has would be fetched before it, and for nothing: the other one takes its place. */
function direct(files: readonly File[]): File[] {
  const passing = /^import\{[^}]*\}from"([^"]+)";export\{([^}]*)\};\s*$/;
  let made = [...files];
  for (const { url, bytes } of files) {
    const [, from, names] = passing.exec(new TextDecoder().decode(bytes)) ?? [];
    if (!from || !names) continue;
    const renamed = names.replace(/([\w$]+) as ([\w$]+)/g, '$2:m.$1');
    made = made
      .filter((file) => file.url !== url)
      .map((file) => {
        if (!file.type.startsWith('text/javascript')) return file;
        const text = new TextDecoder()
          .decode(file.bytes)
          .replaceAll(`import("${url}")`, (load) => `${load}.then((m)=>({${renamed}}))`)
          .replaceAll(`"${from}"`, () => `"${url}"`);
        return { ...file, url: file.url === from ? url : file.url, bytes: new TextEncoder().encode(text) };
      });
  }
  return made;
}

/** The list of what was made, as a module: so that an executable takes the files along. */
function listing(files: readonly File[]): string {
  const lines = files.map((file, at) => {
    const { url, type } = file;
    return {
      import: `import f${at} from './${stored(file)}' with { type: 'file' };`,
      entry: `  ${JSON.stringify(url)}: { type: ${JSON.stringify(type)}, coding: '${codingOf(file)}', path: f${at} },`,
    };
  });
  const imports = lines.map((line) => line.import).join('\n');
  return `${imports}\nexport const files = {\n${lines.map(({ entry }) => entry).join('\n')}\n};\n`;
}

function stored(file: File): string {
  return `${file.url.slice(PREFIX.length)}.${codingOf(file)}`;
}

function codingOf({ bytes }: File): 'br' | 'gzip' {
  return bytes.length <= BROTLI_BYTES ? 'br' : 'gzip';
}

/** How Brotli writes distances: short ones have codes of their own (direct), and the last bits of the others (postfix) theirs. */
const DISTANCES = [
  { postfix: 2, direct: 0 },
  { postfix: 0, direct: 4 },
  { postfix: 1, direct: 4 },
  { postfix: 2, direct: 12 },
];

/** In which way Brotli makes the least of a text, only trying tells: they differ by up to a hundredth. */
function smallest({ bytes, isOwn }: File): Uint8Array {
  if (!isOwn) return brotliCompressSync(bytes);
  const { BROTLI_PARAM_NPOSTFIX, BROTLI_PARAM_NDIRECT } = constants;
  const all = DISTANCES.map(({ postfix, direct }) =>
    brotliCompressSync(bytes, {
      params: { [BROTLI_PARAM_NPOSTFIX]: postfix, [BROTLI_PARAM_NDIRECT]: direct },
    }),
  );
  return all.reduce((least, each) => (each.length < least.length ? each : least));
}

async function build(): Promise<File[]> {
  const urls: Record<string, string> = {};
  const beside: File[] = [];
  for (const [label, worker] of Object.entries(workers)) {
    const [file] = await bundle([Bun.resolveSync(worker, import.meta.dir)], '[name]-[hash].[ext]');
    if (!file) throw new Error(`nothing came of ${worker}`);
    urls[label] = file.url;
    beside.push(file);
  }
  const page = (name: string) => join(browser, `${name}.html`);
  // Apart: what they had in common would be one more file to fetch for the first screen.
  const bundled = [
    ...direct(await bundle([page('index')], '[name].[ext]', { modulePreload: false })).map((file) => ({
      ...file,
      isOwn: true,
    })),
    ...(await bundle([page('graphiql'), page('reference')], '[name].[ext]', {
      define: { WORKERS: JSON.stringify(urls) },
    })),
  ];
  const sheet = await styles();
  const isSheet = ({ url }: File) => /\/index-\w+\.css$/.test(url);
  const all = [...bundled.map((file) => (isSheet(file) ? { ...file, bytes: sheet } : file)), ...beside];
  // The icon is of both.
  return [...new Map(all.map((file) => [file.url, file])).values()];
}

const files = await build();
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const file of files)
  await Bun.write(
    join(out, stored(file)),
    codingOf(file) === 'br' ? smallest(file) : Bun.gzipSync(file.bytes, { level: 12, library: 'libdeflate' }),
  );
await Bun.write(join(out, 'files.js'), listing(files));
