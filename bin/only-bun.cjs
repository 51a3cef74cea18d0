/** What a program that runs in Node gets of this package: the reason why it gets nothing. */
'use strict';

// Named, so that an import reaches the line below.
exports.createDuet = undefined;
throw new Error('duet-server runs in Bun: start this program with `bun`, or serve with the command `duet`.');
