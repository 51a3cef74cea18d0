/** What is typed into a field is what is saved, or the field says why it cannot be; through both doors. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { browsing, service, shows } from './browser.ts';
import { type Editing, editing, onBoth, shareOf, thing, things } from './things.ts';

/** What cannot be read, what is told of it, and what can. */
const unreadables: [name: string, wrong: string, told: string, right: string, value: unknown][] = [
  ['extra', '{"a": ', 'not JSON', '{"a": 1}', { a: 1 }],
  ['extra', '{"n": 12345678901234567890}', '12345678901234567000', '{"n": 5}', { n: 5 }],
  ['extras', '[{"a":1},', 'not JSON', '[2]', [2]],
  ['amount', '1,5', 'not a number', '1.25', 1.25],
  ['amount', 'Infinity', 'not a number', '2', 2],
  ['amount', '1e999', 'too large', '3', 3],
  ['amount', '12345678901234567890', '12345678901234567000', '12345678901234567000', 12345678901234567000],
  ['amount', '9007199254740993', '9007199254740992', '-.5e1', -5],
  ['price', '1,5', 'not a number', '92233720368547758.07', '92233720368547758.07'],
  ['units', '1e3', 'not a number', '9007199254740995', '9007199254740995'],
  ['needed', '0x10', 'not a number', '007', 7],
];

browsing.each(onBoth)('inputs, through %s on %s', (door, database) => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service(database, things);
  });
  afterAll(() => duet.end());

  const stored = (id: number) => duet.json('GET', `/things/${id}`);
  /** Opens the form of a new thing. */
  const open = async (here: Editing, values: object = {}): Promise<number> => {
    const { id } = await duet.json('POST', '/things', { ...thing, ...values });
    await here.go(`#/data/Thing/record/${id}/edit`);
    await here.input('name').waitFor();
    return id;
  };
  const made = async (values: object = {}, options = {}) => {
    const here = await editing(duet.url, door, '#/data/Owner', options);
    return Object.assign(here, { id: await open(here, values) });
  };

  describe('what cannot be read', () => {
    // One page for all of it: each case has a form of its own.
    let here: Editing;
    beforeAll(async () => {
      here = await editing(duet.url, door, '#/data/Owner');
    });
    afterAll(() => here[Symbol.asyncDispose]());

    test.each(shareOf(door, unreadables))(
      '%s: %s is told at the field, and nothing is sent',
      async (name, wrong, told, right, value) => {
        const id = await open(here);
        const { page, field, sent } = here;
        sent.length = 0;
        await here.input('nick').fill('other');
        await here.input(name).fill(wrong);
        await page.getByRole('button', { name: 'Save' }).click();
        await field(name).getByRole('alert').filter({ hasText: told }).waitFor();
        expect(await here.input(name).inputValue()).toBe(wrong);
        expect(await here.input(name).getAttribute('aria-invalid')).toBe('true');
        await shows(() => page.evaluate('document.activeElement.id'), `field-${name}`);
        expect(sent).toEqual([]);
        await here.input(name).fill(right);
        await here.save();
        expect(sent).toEqual([{ nick: 'other', [name]: value }]);
        expect(await stored(id)).toMatchObject({ nick: 'other', [name]: value });
        expect(here.complaints).toEqual([]);
      },
    );
  });

  test('a form says what must be there and what it must look like, and a new one begins in its first field', async () => {
    await using here = await editing(duet.url, door, '#/data/Tag/new');
    const { page, field } = here;
    await shows(() => page.evaluate('document.activeElement.id'), 'field-code');
    await field('sku').getByText('For example: ABC-4567').waitFor();
    await here.input('sku').fill('x');
    await page.keyboard.press('Tab');
    await field('sku').getByText('sku must look like ABC-4567').waitFor();
    await here.input('sku').fill('');
    // Why a field is not to be used any more, too.
    await field('old').getByText('Deprecated: Use the code.').waitFor();
    const title = (name: string, to: string) =>
      page.getByRole('button', { name: `Set to ${to}: ${name}` }).getAttribute('title');
    expect(await title('label', 'empty text')).toBe('Set to empty text: a value without a character');
    await open(here);
    await field('name').getByText('required').waitFor();
    await field('needed').getByText('required').waitFor();
    for (const name of ['nick', 'sure', 'scores'])
      expect(await field(name).getByText('required').count()).toBe(0);
    expect(await title('nick', 'null')).toBe('Set to null: no value');
    // So does one of a record that is there; that keys are 1 or more is of no use to anybody.
    await shows(() => page.evaluate('document.activeElement.id'), 'field-name');
    await field('ownerId').waitFor();
    expect(await page.getByText('1 or more').count()).toBe(0);
    // What is wrong is in sight, above the bar with Save, however low the window is.
    await page.setViewportSize({ width: 1280, height: 640 });
    await here.input('needed').fill('x');
    await page.getByRole('button', { name: 'Save' }).click();
    const { y: bar = 0 } = (await page.locator('form.record > .tools').boundingBox()) ?? {};
    const alert = field('needed').getByRole('alert');
    await shows(async () => ((await alert.boundingBox())?.y ?? bar) + 16 < bar, true);
    await here.input('needed').fill('10');
    expect(here.complaints).toEqual([]);
  });

  test('an exact number is shown and sent with all of its digits, however it is typed', async () => {
    await using here = await made();
    expect(await here.input('units').inputValue()).toBe('9007199254740993');
    expect(await here.input('price').inputValue()).toBe('12.50');
    for (const [name, mode] of [
      ['units', 'numeric'],
      ['price', 'decimal'],
    ] as const)
      expect(await here.input(name).getAttribute('inputmode')).toBe(mode);
    expect(await here.page.locator('[id^="field-_"]').count()).toBe(0);
    await here.input('price').fill(' -.5 ');
    await here.input('units').fill('+09223372036854775807');
    await here.save();
    expect(here.sent).toEqual([{ price: '-0.5', units: '9223372036854775807' }]);
    expect(await stored(here.id)).toMatchObject({ price: '-0.50', units: '9223372036854775807' });
    expect(here.complaints).toEqual([]);
  });

  test('too many digits are told by the service, at the field', async () => {
    await using here = await made();
    await here.input('price').fill('12.505');
    await here.page.getByRole('button', { name: 'Save' }).click();
    await here.field('price').getByRole('alert').filter({ hasText: '2 digits' }).waitFor();
  });

  test('an item of a list that is no number is told too', async () => {
    await using here = await made();
    const { page, field, sent } = here;
    await page.getByLabel('scores, item 2').fill('two');
    await page.getByRole('button', { name: 'Save' }).click();
    await field('scores').getByRole('alert').filter({ hasText: 'not a number' }).waitFor();
    expect(await page.getByLabel('scores, item 2').inputValue()).toBe('two');
    expect(sent).toEqual([]);
    await page.getByLabel('scores, item 2').fill('2.5');
    await here.save();
    expect(sent).toEqual([{ scores: [1.5, 2.5] }]);
  });

  test('what is emptied becomes null, and an empty text is a choice of its own', async () => {
    await using here = await made();
    const { page, sent } = here;
    const optional = ['nick', 'body', 'code', 'site', 'mark', 'day', 'at', 'amount', 'extra', 'extras'];
    for (const name of optional) await here.input(name).fill('');
    for (const name of ['color', 'flag']) await here.input(name).selectOption('null');
    await here.input('ownerId').fill('');
    await here.input('code').press('Tab');
    for (const name of ['nick', 'site', 'amount', 'extra', 'ownerId'])
      expect(await here.input(name).getAttribute('placeholder')).toBe('null');
    await here.save();
    const nothing = [...optional, 'color', 'flag', 'ownerId'].map((name) => [name, null]);
    expect(sent).toEqual([Object.fromEntries(nothing)]);

    await page.getByRole('link', { name: 'Edit' }).click();
    // A text that may be empty can be made so; a format that no empty text has cannot.
    await page.getByRole('button', { name: 'Set to empty text: nick' }).click();
    expect(await page.getByRole('button', { name: 'Set to empty text: site' }).count()).toBe(0);
    expect(await here.input('nick').getAttribute('placeholder')).toBe('empty');
    await here.save();
    expect(sent[1]).toEqual({ nick: '' });
    expect((await stored(here.id)).nick).toBe('');

    // What was empty before is empty again, and no change.
    await page.getByRole('link', { name: 'Edit' }).click();
    await here.input('nick').fill('x');
    await here.input('nick').fill('');
    await here.input('code').fill('k');
    await here.save();
    expect(sent[2]).toEqual({ code: 'k' });
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('button', { name: 'Set to null: nick' }).click();
    await here.save();
    expect((await stored(here.id)).nick).toBeNull();
    // A key is never empty.
    await here.go('#/data/Tag/new');
    await page.getByRole('button', { name: 'Set to empty text: label' }).waitFor();
    expect(await page.getByRole('button', { name: 'Set to empty text: code' }).count()).toBe(0);
    // Nor is what has a pattern that no empty text has; without a break in it, it is one line.
    expect(await page.getByRole('button', { name: 'Set to empty text: sku' }).count()).toBe(0);
    expect(await here.input('sku').evaluate((each: any) => each.tagName)).toBe('INPUT');
    expect(here.complaints).toEqual([]);
  });

  test('null, by its button, is what the field shows', async () => {
    await using here = await made();
    const { page, sent } = here;
    for (const name of ['extra', 'amount', 'nick']) {
      await page.getByRole('button', { name: `Set to null: ${name}`, exact: true }).click();
      expect(await here.input(name).inputValue()).toBe('');
    }
    await here.save();
    expect(sent).toEqual([{ extra: null, amount: null, nick: null }]);
  });

  test('a number that must be there can be typed anew, and is missed when it is not there', async () => {
    await using here = await made();
    const { page, field, sent } = here;
    const { keyboard } = page;
    await here.input('needed').focus();
    await keyboard.press('Control+A');
    await keyboard.press('Backspace');
    expect(await here.input('needed').inputValue()).toBe('');
    await page.getByRole('button', { name: 'Save' }).click();
    await field('needed').getByRole('alert').waitFor();
    await here.input('needed').focus();
    await keyboard.type('25');
    await here.save();
    expect(sent.at(-1)).toEqual({ needed: 25 });
  });

  test('Enter saves from a line, and begins another in a text that has lines', async () => {
    await using here = await made();
    const { page, sent } = here;
    const { keyboard } = page;
    await here.input('body').focus();
    await keyboard.press('Control+End');
    await keyboard.press('Enter');
    await keyboard.type('three');
    // Nothing bounds it, and it may have lines; but it is one as long as nobody asks for more.
    await here.input('nick').focus();
    await keyboard.press('Control+A');
    await keyboard.type('Nick');
    await keyboard.press('Enter');
    await page.locator('main > dl.fields').waitFor();
    expect(sent).toEqual([{ body: 'one\ntwo\nthree', nick: 'Nick' }]);

    await page.getByRole('link', { name: 'Edit' }).click();
    await here.input('nick').focus();
    await keyboard.press('End');
    await keyboard.press('Shift+Enter');
    await keyboard.type('of');
    await keyboard.press('Enter');
    await keyboard.type('mine');
    await here.save();
    expect(sent[1]).toEqual({ nick: 'Nick\nof\nmine' });

    // To take the lines away again takes the focus from nobody.
    await page.getByRole('link', { name: 'Edit' }).click();
    await here.input('nick').focus();
    await keyboard.press('Control+A');
    await keyboard.type('One');
    expect(await here.input('nick').inputValue()).toBe('One');
    await here.input('name').focus();
    await keyboard.press('Control+A');
    await keyboard.insertText('Two words');
    await keyboard.press('Enter');
    await page.locator('main > dl.fields').waitFor();
    expect(sent[2]).toEqual({ nick: 'One', name: 'Two words' });
  });

  test('a line that was stored with a break keeps it, and keeps the focus when the break is deleted', async () => {
    await using here = await made({ code: 'a\nb' });
    const { page, sent } = here;
    expect(await here.input('code').inputValue()).toBe('a\nb');
    await here.input('code').focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('cd');
    expect(await here.input('code').inputValue()).toBe('cd');
    await here.save();
    expect(sent).toEqual([{ code: 'cd' }]);
  });

  test('breaks stay of the kind that they are', async () => {
    await using here = await made({ body: 'one\r\ntwo', code: 'a\rb' });
    const { page, sent } = here;
    await here.input('body').fill('one\nthree');
    await here.input('body').fill('one\ntwo');
    await here.input('name').fill('other');
    await here.save();
    expect(sent).toEqual([{ name: 'other' }]);
    await page.getByRole('link', { name: 'Edit' }).click();
    await here.input('body').fill('one\ntwo\nthree');
    await here.input('code').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('c');
    await here.save();
    expect(sent[1]).toEqual({ body: 'one\r\ntwo\r\nthree', code: 'a\rbc' });
  });

  test('breaks that are pasted into a line become spaces, and no words are joined', async () => {
    await using here = await made();
    const { page, sent } = here;
    await page.evaluate("navigator.clipboard.writeText('one\\ntwo')");
    for (const name of ['code', 'nick']) {
      await here.input(name).focus();
      await page.keyboard.press('Control+A');
      await page.keyboard.press('Control+V');
    }
    await here.save();
    expect(sent).toEqual([{ code: 'one two', nick: 'one\ntwo' }]);
  });

  test.each(['America/New_York', 'Asia/Kolkata'])(
    'a moment is shown and saved as it is in %s',
    async (timezoneId) => {
      await using here = await made({}, { timezoneId });
      const { page, sent } = here;
      expect(await here.input('at').inputValue()).toBe('2025-03-04T05:06:07.008');
      await here.input('nick').fill('touched');
      await here.save();
      expect(sent).toEqual([{ nick: 'touched' }]);
      await page.getByRole('link', { name: 'Edit' }).click();
      // Another, and the same again: no change.
      await here.input('at').fill('2025-03-04T05:06:00.000');
      await here.input('at').fill('2025-03-04T05:06:07.008');
      await here.input('day').fill('2024-03-01');
      await here.save();
      expect(sent[1]).toEqual({ day: '2024-03-01' });
      await page.getByRole('link', { name: 'Edit' }).click();
      await here.input('at').fill('2025-03-04T05:06');
      await here.save();
      expect((await stored(here.id)).at).toBe('2025-03-04T05:06:00.000Z');
      // To the second: shown with fewer digits, and the same again is no change.
      await page.getByRole('link', { name: 'Edit' }).click();
      await here.input('at').fill('2025-03-04T07:00');
      await here.input('at').fill('2025-03-04T05:06');
      await here.input('nick').fill('again');
      await here.save();
      expect(sent.at(-1)).toEqual({ nick: 'again' });
    },
  );

  test('a day that is typed in part is told at the field, and nothing is sent', async () => {
    await using here = await made({ day: null });
    const { page, field, sent } = here;
    await here.input('nick').fill('other');
    await here.input('day').focus();
    await page.keyboard.type('0203');
    await page.getByRole('button', { name: 'Save' }).click();
    await field('day').getByRole('alert').filter({ hasText: 'not complete' }).waitFor();
    expect(sent).toEqual([]);
    await here.input('day').focus();
    await page.keyboard.type('02032004');
    await here.save();
    expect(sent).toEqual([{ nick: 'other', day: '2004-02-03' }]);
  });

  test('what is typed for a reference and not chosen is told at the field, and nothing is sent', async () => {
    await using here = await made();
    const { page, field, sent } = here;
    // To look at the list and go on changes nothing.
    await here.input('ownerId').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('option', { name: 'Grace' }).waitFor();
    await page.keyboard.press('Tab');
    await shows(() => here.input('ownerId').inputValue(), 'Ada');
    await here.input('ownerId').fill('Gra');
    await here.input('nick').fill('other');
    expect(await here.input('ownerId').inputValue()).toBe('Gra');
    await page.getByRole('button', { name: 'Save' }).click();
    await field('ownerId').getByRole('alert').filter({ hasText: 'Choose' }).waitFor();
    expect(sent).toEqual([]);
    await here.input('ownerId').fill('Grac');
    await page.getByRole('option', { name: 'Ada' }).waitFor({ state: 'detached' });
    await page.getByRole('option', { name: 'Grace' }).waitFor();
    // Enter takes what the typed text has found, and nothing that an earlier one had.
    const slow = Promise.withResolvers<void>();
    await page.route(/owners|graphql/, async (route) => {
      await slow.promise;
      await route.continue();
    });
    await here.input('ownerId').fill('Ada');
    await page.keyboard.press('Enter');
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
    expect(await here.input('ownerId').inputValue()).toBe('Ada');
    expect(await field('ownerId').getByRole('alert').count()).toBe(1);
    slow.resolve();
    await here.input('ownerId').fill('Grac');
    await page.getByRole('option', { name: 'Grace' }).click();
    await here.save();
    expect(sent).toEqual([{ ownerId: 2, nick: 'other' }]);
    await page.getByRole('link', { name: 'Edit' }).click();
    await here.input('ownerId').fill('x');
    await page.keyboard.press('Escape');
    await shows(() => here.input('ownerId').inputValue(), 'Grace');
  });

  test('a choice that may be null has three states, and one that must be made begins without', async () => {
    await using here = await made();
    const { page, sent, field } = here;
    await here.input('flag').selectOption('false');
    await here.input('color').selectOption('GREEN');
    await here.save();
    expect(sent).toEqual([{ flag: false, color: 'GREEN' }]);
    await here.go('#/data/Thing/new');
    await here.input('name').fill('New');
    await page.getByRole('button', { name: 'Create' }).click();
    await field('sure').getByRole('alert').waitFor();
    await here.input('sure').selectOption('false');
    await here.save();
    expect(sent.at(-1)).toEqual({ name: 'New', sure: false });
    // What a new record has by default is had again when it is chosen again.
    await here.go('#/data/Color2/new');
    await here.input('hue').selectOption('RED');
    await here.input('hue').selectOption('GREEN by default');
    await here.input('note').fill('x');
    await here.input('note').fill('');
    await here.save();
    expect(sent.at(-1)).toEqual({});
    await here.go('#/data/Color2/new');
    await page.getByRole('button', { name: 'Set to null: note' }).click();
    await page.getByRole('button', { name: 'Set to null: hue' }).click();
    await here.save();
    expect(sent.at(-1)).toEqual({ note: null, hue: null });
  });

  test('a state offers where it can go from where it is', async () => {
    const { id } = await duet.json('POST', '/jobs', { name: 'a' });
    await using here = await editing(duet.url, door, `#/data/Job/record/${id}/edit`);
    const offered = () => here.input('state').locator('option').allTextContents();
    await here.input('state').waitFor();
    expect(await offered()).toEqual(['NEW', 'PAID', 'GONE']);
    await here.input('state').selectOption('PAID');
    await here.save();
    expect(here.sent).toEqual([{ state: 'PAID' }]);
    await here.page.getByRole('link', { name: 'Edit' }).click();
    await here.input('state').waitFor();
    expect(await offered()).toEqual(['PAID', 'GONE']);
    expect(await here.page.getByRole('button', { name: 'Set to null: state' }).count()).toBe(0);
  });

  test('what the service refuses is told at its field, all of it', async () => {
    await using here = await editing(duet.url, door, '#/data/Thing/new');
    const { page, field } = here;
    await page.getByRole('button', { name: 'Create' }).click();
    for (const name of ['name', 'sure'])
      await field(name)
        .getByRole('alert')
        .filter({ hasText: `${name} is required` })
        .waitFor();
    await here.input('name').fill('x');
    await here.input('sure').selectOption('true');
    await here.input('mark').fill('no uuid');
    await here.input('site').fill('no uri');
    await page.getByRole('button', { name: 'Create' }).click();
    for (const name of ['mark', 'site']) await field(name).getByRole('alert').waitFor();
    await here.input('mark').fill('');
    await here.input('site').fill('');
    await here.input('needed').fill('3000000000');
    await page.getByRole('button', { name: 'Create' }).click();
    await field('needed').getByRole('alert').waitFor();
    expect(await here.input('needed').inputValue()).toBe('3000000000');
    await here.input('needed').fill('3');
    await here.save();
    expect(here.sent.at(-1)).toEqual({ name: 'x', sure: true, needed: 3 });
  });

  test('JSON is sent as it was typed, and not at all when only its looks changed', async () => {
    await using here = await made();
    const { sent } = here;
    const typed = '{"deep":[1,{"two":null}]}';
    await here.input('extra').fill(typed);
    expect(await here.input('extra').inputValue()).toBe(typed);
    await here.input('nick').fill('other');
    await here.save();
    expect(sent).toEqual([{ nick: 'other' }]);
  });

  test('a very long text arrives whole', async () => {
    await using here = await made();
    const text = `${'Ein langer Text mit Ümläuten. '.repeat(6000)}😀`;
    await here.input('body').fill(text);
    await here.save();
    expect((await stored(here.id)).body).toBe(text);
  });
});
