/** The process that is the reader or the writer of a SQLite file; somebody waits for its first answer, so it loads nothing else. */

import { serveStatements } from '../storage/sqlite/statement-process.ts';

const [, , right, file = ''] = process.argv;
serveStatements(file, right === 'writer' ? right : 'reader');
