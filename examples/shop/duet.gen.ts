// Written by `duet types` from the schema file: run it again when that has changed.

/** What `logic.ts` exports: export default { … } satisfies Logic */
export interface Logic {
  Product?: ProductLogic;
  Tag?: TagLogic;
  ProductTag?: ProductTagLogic;
  Stock?: StockLogic;
  Customer?: CustomerLogic;
  Order: OrderLogic;
  OrderLine: OrderLineLogic;
  Mutation: MutationLogic;
  Query?: {};
  /** By names of one's own; cron in UTC, such as '0 3 * * *'. */
  schedule?: { [name: string]: { readonly cron: string; readonly timeout?: number; readonly run: (given: Job & { readonly slot: string }) => globalThis.Promise<unknown> } };
  /** What other services call, such as 'POST /hooks/payments'. */
  routes?: { [route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /hooks/${string}`]: (request: globalThis.Request, given: { readonly api: Api; readonly caller: Caller; readonly signal: globalThis.AbortSignal; readonly requestId: string }) => globalThis.Response | globalThis.Promise<globalThis.Response> };
}

export interface MutationLogic {
  /** Orders for a customer that the caller sees: customers for themselves, staff for everybody. */
  placeOrder: (given: Inside<'customerId' | 'lines'>, args: { customerId: string; lines: WantedLine[] }) => Steps<number | string | { readonly id: number | string }> | number | string | { readonly id: number | string };
}

export interface ProductLogic {
  beforeCreate?: (given: Inside<'id' | 'sku' | 'name' | 'description' | 'price'> & { readonly input: ProductCreating }) => Steps<ProductCreated | void> | ProductCreated | void;
  beforeUpdate?: (given: Inside<'id' | 'sku' | 'name' | 'description' | 'price'> & { readonly input: ProductChanging; readonly record: ProductRow }) => Steps<ProductChanged | void> | ProductChanged | void;
  beforeDelete?: (given: Inside<'id' | 'sku' | 'name' | 'description' | 'price'> & { readonly record: ProductRow }) => Steps<void> | void;
  afterCreate?: ((given: Job & { readonly record: ProductRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: ProductRow }) => globalThis.Promise<unknown> };
  afterUpdate?: ((given: Job & { readonly record: ProductRow; readonly before: ProductRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: ProductRow; readonly before: ProductRow }) => globalThis.Promise<unknown> };
  afterDelete?: ((given: Job & { readonly record: ProductRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: ProductRow }) => globalThis.Promise<unknown> };
}

/** As it is stored. */
export interface ProductRow {
  readonly id: number;
  readonly sku: string;
  readonly name: string;
  readonly description: string | null;
  readonly price: string;
  /** Grows with every change of the record. */
  readonly _version: number;
}

export interface ProductCreating {
  readonly sku: string;
  readonly name: string;
  readonly description: string | null;
  readonly price: string;
}

export interface ProductCreated {
  sku?: string;
  name?: string;
  description?: string | null;
  price?: string;
}

export interface ProductChanging {
  readonly sku?: string;
  readonly name?: string;
  readonly description?: string | null;
  readonly price?: string;
  readonly _inc?: ProductIncrements;
}

export interface ProductChanged {
  sku?: string;
  name?: string;
  description?: string | null;
  price?: string;
  _inc?: ProductIncrements;
}

export interface TagLogic {
  beforeCreate?: (given: Inside<'id' | 'name'> & { readonly input: TagCreating }) => Steps<TagCreated | void> | TagCreated | void;
  beforeUpdate?: (given: Inside<'id' | 'name'> & { readonly input: TagChanging; readonly record: TagRow }) => Steps<TagChanged | void> | TagChanged | void;
  beforeDelete?: (given: Inside<'id' | 'name'> & { readonly record: TagRow }) => Steps<void> | void;
  afterCreate?: ((given: Job & { readonly record: TagRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: TagRow }) => globalThis.Promise<unknown> };
  afterUpdate?: ((given: Job & { readonly record: TagRow; readonly before: TagRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: TagRow; readonly before: TagRow }) => globalThis.Promise<unknown> };
  afterDelete?: ((given: Job & { readonly record: TagRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: TagRow }) => globalThis.Promise<unknown> };
}

/** As it is stored. */
export interface TagRow {
  readonly id: number;
  /** Compared and sorted without letter case. */
  readonly name: string;
  /** Grows with every change of the record. */
  readonly _version: number;
}

export interface TagCreating {
  readonly name: string;
}

export interface TagCreated {
  name?: string;
}

export interface TagChanging {
  readonly name?: string;
}

export interface TagChanged {
  name?: string;
}

export interface ProductTagLogic {
  beforeCreate?: (given: Inside<'id' | 'productId' | 'tagId'> & { readonly input: ProductTagCreating }) => Steps<ProductTagCreated | void> | ProductTagCreated | void;
  beforeUpdate?: (given: Inside<'id' | 'productId' | 'tagId'> & { readonly input: ProductTagChanging; readonly record: ProductTagRow }) => Steps<ProductTagChanged | void> | ProductTagChanged | void;
  beforeDelete?: (given: Inside<'id' | 'productId' | 'tagId'> & { readonly record: ProductTagRow }) => Steps<void> | void;
  afterCreate?: ((given: Job & { readonly record: ProductTagRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: ProductTagRow }) => globalThis.Promise<unknown> };
  afterUpdate?: ((given: Job & { readonly record: ProductTagRow; readonly before: ProductTagRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: ProductTagRow; readonly before: ProductTagRow }) => globalThis.Promise<unknown> };
  afterDelete?: ((given: Job & { readonly record: ProductTagRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: ProductTagRow }) => globalThis.Promise<unknown> };
}

/** As it is stored. */
export interface ProductTagRow {
  readonly id: number;
  readonly productId: number;
  readonly tagId: number;
  /** Grows with every change of the record. */
  readonly _version: number;
}

export interface ProductTagCreating {
  readonly productId: number;
  readonly tagId: number;
}

export interface ProductTagCreated {
  productId?: number;
  tagId?: number;
}

export interface ProductTagChanging {
  readonly productId?: number;
  readonly tagId?: number;
}

export interface ProductTagChanged {
  productId?: number;
  tagId?: number;
}

export interface StockLogic {
  beforeCreate?: (given: Inside<'id' | 'productId' | 'place' | 'quantity'> & { readonly input: StockCreating }) => Steps<StockCreated | void> | StockCreated | void;
  beforeUpdate?: (given: Inside<'id' | 'productId' | 'place' | 'quantity'> & { readonly input: StockChanging; readonly record: StockRow }) => Steps<StockChanged | void> | StockChanged | void;
  beforeDelete?: (given: Inside<'id' | 'productId' | 'place' | 'quantity'> & { readonly record: StockRow }) => Steps<void> | void;
  afterCreate?: ((given: Job & { readonly record: StockRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: StockRow }) => globalThis.Promise<unknown> };
  afterUpdate?: ((given: Job & { readonly record: StockRow; readonly before: StockRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: StockRow; readonly before: StockRow }) => globalThis.Promise<unknown> };
  afterDelete?: ((given: Job & { readonly record: StockRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: StockRow }) => globalThis.Promise<unknown> };
}

/** As it is stored. */
export interface StockRow {
  readonly id: number;
  readonly productId: number;
  readonly place: string;
  readonly quantity: number;
  /** Grows with every change of the record. */
  readonly _version: number;
}

export interface StockCreating {
  readonly productId: number;
  readonly place: string;
  readonly quantity: number;
}

export interface StockCreated {
  productId?: number;
  place?: string;
  quantity?: number;
}

export interface StockChanging {
  readonly productId?: number;
  readonly place?: string;
  readonly quantity?: number;
  readonly _inc?: StockIncrements;
}

export interface StockChanged {
  productId?: number;
  place?: string;
  quantity?: number;
  _inc?: StockIncrements;
}

export interface CustomerLogic {
  beforeCreate?: (given: Inside<'id' | 'subject' | 'name' | 'email'> & { readonly input: CustomerCreating }) => Steps<CustomerCreated | void> | CustomerCreated | void;
  beforeUpdate?: (given: Inside<'id' | 'subject' | 'name' | 'email'> & { readonly input: CustomerChanging; readonly record: CustomerRow }) => Steps<CustomerChanged | void> | CustomerChanged | void;
  beforeDelete?: (given: Inside<'id' | 'subject' | 'name' | 'email'> & { readonly record: CustomerRow }) => Steps<void> | void;
  afterCreate?: ((given: Job & { readonly record: CustomerRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: CustomerRow }) => globalThis.Promise<unknown> };
  afterUpdate?: ((given: Job & { readonly record: CustomerRow; readonly before: CustomerRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: CustomerRow; readonly before: CustomerRow }) => globalThis.Promise<unknown> };
  afterDelete?: ((given: Job & { readonly record: CustomerRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: CustomerRow }) => globalThis.Promise<unknown> };
}

/** As it is stored. */
export interface CustomerRow {
  readonly id: number;
  /** The `sub` of its token. */
  readonly subject: string | null;
  readonly name: string;
  /** Compared and sorted without letter case. */
  readonly email: string;
  /** Grows with every change of the record. */
  readonly _version: number;
}

export interface CustomerCreating {
  readonly subject: string | null;
  readonly name: string;
  readonly email: string;
}

export interface CustomerCreated {
  subject?: string | null;
  name?: string;
  email?: string;
}

export interface CustomerChanging {
  readonly subject?: string | null;
  readonly name?: string;
  readonly email?: string;
}

export interface CustomerChanged {
  subject?: string | null;
  name?: string;
  email?: string;
}

export interface OrderLogic {
  beforeCreate?: (given: Inside<'id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total'> & { readonly input: OrderCreating }) => Steps<OrderCreated | void> | OrderCreated | void;
  beforeUpdate?: (given: Inside<'id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total'> & { readonly input: OrderChanging; readonly record: OrderRow }) => Steps<OrderChanged | void> | OrderChanged | void;
  beforeDelete?: (given: Inside<'id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total'> & { readonly record: OrderRow }) => Steps<void> | void;
  afterCreate?: ((given: Job & { readonly record: OrderRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: OrderRow }) => globalThis.Promise<unknown> };
  afterUpdate?: ((given: Job & { readonly record: OrderRow; readonly before: OrderRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: OrderRow; readonly before: OrderRow }) => globalThis.Promise<unknown> };
  afterDelete?: ((given: Job & { readonly record: OrderRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: OrderRow }) => globalThis.Promise<unknown> };
  /**
   * Nothing from 50.00 on.
   *
   * Computed from goods.
   */
  shipping: (values: { readonly goods: string }) => string;
  /**
   * Stored, so that orders are sorted, filtered and summed by it.
   *
   * Computed from goods.
   */
  total: (values: { readonly goods: string }) => string;
}

/** As it is stored. */
export interface OrderRow {
  readonly id: number;
  /** Counted up from 1, by logic.ts. */
  readonly number: number;
  readonly customerId: number;
  /**
   * How far it is.
   *
   * Changes only so: OPEN → PAID, CANCELLED; PAID → SHIPPED, CANCELLED.
   */
  readonly state: OrderState;
  /** What the lines come to, kept up by logic.ts. */
  readonly goods: string;
  readonly placedAt: string;
  /**
   * Stored, so that orders are sorted, filtered and summed by it.
   *
   * Computed from goods.
   */
  readonly total: string;
  /** Grows with every change of the record. */
  readonly _version: number;
}

export interface OrderCreating {
  readonly customerId: number;
  readonly state: OrderState;
  readonly number: number | null;
  readonly goods: string;
}

export interface OrderCreated {
  customerId?: number;
  state?: OrderState;
  number?: number;
  goods?: string;
}

export interface OrderChanging {
  readonly customerId?: number;
  readonly state?: OrderState;
  readonly number?: number;
  readonly goods?: string;
}

export interface OrderChanged {
  customerId?: number;
  state?: OrderState;
  number?: number;
  goods?: string;
}

export interface OrderSystemInput extends OrderInput {
  /** Counted up from 1, by logic.ts. */
  number?: number;
  /** What the lines come to, kept up by logic.ts. */
  goods?: string;
}

export interface OrderSystemChanges extends OrderChanges {
  /** Counted up from 1, by logic.ts. */
  number?: number;
  /** What the lines come to, kept up by logic.ts. */
  goods?: string;
}

export interface OrderSystemUpsert extends OrderUpsert {
  /** Counted up from 1, by logic.ts. */
  number?: number;
  /** What the lines come to, kept up by logic.ts. */
  goods?: string;
}

export interface OrderLineLogic {
  beforeCreate?: (given: Inside<'id' | 'orderId' | 'productId' | 'quantity' | 'price'> & { readonly input: OrderLineCreating }) => Steps<OrderLineCreated | void> | OrderLineCreated | void;
  beforeUpdate?: (given: Inside<'id' | 'orderId' | 'productId' | 'quantity' | 'price'> & { readonly input: OrderLineChanging; readonly record: OrderLineRow }) => Steps<OrderLineChanged | void> | OrderLineChanged | void;
  beforeDelete?: (given: Inside<'id' | 'orderId' | 'productId' | 'quantity' | 'price'> & { readonly record: OrderLineRow }) => Steps<void> | void;
  afterCreate?: ((given: Job & { readonly record: OrderLineRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: OrderLineRow }) => globalThis.Promise<unknown> };
  afterUpdate?: ((given: Job & { readonly record: OrderLineRow; readonly before: OrderLineRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: OrderLineRow; readonly before: OrderLineRow }) => globalThis.Promise<unknown> };
  afterDelete?: ((given: Job & { readonly record: OrderLineRow }) => globalThis.Promise<unknown>) | { readonly timeout?: number; readonly run: (given: Job & { readonly record: OrderLineRow }) => globalThis.Promise<unknown> };
  /** Computed from price, quantity. */
  total: (values: { readonly price: string; readonly quantity: number }) => string;
}

/** As it is stored. */
export interface OrderLineRow {
  readonly id: number;
  readonly orderId: number;
  readonly productId: number;
  readonly quantity: number;
  /** That of the product when it was ordered. */
  readonly price: string;
  /** Grows with every change of the record. */
  readonly _version: number;
}

export interface OrderLineCreating {
  readonly orderId: number;
  readonly productId: number;
  readonly quantity: number;
  readonly price: string | null;
}

export interface OrderLineCreated {
  orderId?: number;
  productId?: number;
  quantity?: number;
  price?: string;
}

export interface OrderLineChanging {
  readonly orderId?: number;
  readonly productId?: number;
  readonly quantity?: number;
  readonly price?: string;
  readonly _inc?: OrderLineIncrements;
}

export interface OrderLineChanged {
  orderId?: number;
  productId?: number;
  quantity?: number;
  price?: string;
  _inc?: OrderLineIncrements;
}

export interface OrderLineSystemInput extends OrderLineInput {
  /** That of the product when it was ordered. */
  price?: string;
}

export interface OrderLineSystemChanges extends OrderLineChanges {
  /** That of the product when it was ordered. */
  price?: string;
}

export interface OrderLineSystemUpsert extends OrderLineUpsert {
  /** That of the product when it was ordered. */
  price?: string;
}

/** Who asks: the `sub` of a token, or the name of an API key; undefined for the anonymous. */
export interface Caller {
  readonly subject: string | undefined;
  readonly roles: readonly string[];
  readonly claims: { readonly [claim: string]: unknown };
}

/** What functions inside of the transaction are given. */
export interface Inside<F extends string> {
  readonly tx: Tx;
  readonly caller: Caller;
  /** To be thrown: VALIDATION_FAILED, with the code REFUSED at this field. */
  readonly refuse: (message: string, field?: F) => Error;
}

/** What functions after the commit are given. */
export interface Job {
  readonly api: Api;
  /** The same at every attempt. */
  readonly id: string;
  readonly attempt: number;
  /** Aborts at the timeout. */
  readonly signal: globalThis.AbortSignal;
}

declare const step: unique symbol;

/** What is asked of Duet: yield* tx.…, with the star. */
export interface Step {
  readonly [step]: true;
}

export type Steps<T> = globalThis.Generator<Step, T, unknown>;

export interface ProductTx {
  get<const S extends ProductSelect | undefined = undefined, const I extends ProductInclude | undefined = undefined>(key: ProductKey, options?: Asked<ProductGraph, S, I>): Steps<Chosen<ProductGraph, S, I> | null>;
  list<const S extends ProductSelect | undefined = undefined, const I extends ProductInclude | undefined = undefined>(query?: ProductPage & Asked<ProductGraph, S, I>): Steps<Chosen<ProductGraph, S, I>[]>;
  aggregate<const O extends ProductAggregate>(options: O & Only<ProductAggregate, O>): Steps<Aggregated<ProductNumbers, O>[]>;
  create(input: ProductInput): Steps<Product>;
  update(of: ProductKey | ProductGuarded, changes: ProductChanges): Steps<Product>;
  delete(of: ProductKey | ProductGuarded): Steps<Product>;
  upsert(by: ProductBy, input: ProductUpsert): Steps<Product>;
}

export interface TagTx {
  get<const S extends TagSelect | undefined = undefined, const I extends TagInclude | undefined = undefined>(key: TagKey, options?: Asked<TagGraph, S, I>): Steps<Chosen<TagGraph, S, I> | null>;
  list<const S extends TagSelect | undefined = undefined, const I extends TagInclude | undefined = undefined>(query?: TagPage & Asked<TagGraph, S, I>): Steps<Chosen<TagGraph, S, I>[]>;
  aggregate<const O extends TagAggregate>(options: O & Only<TagAggregate, O>): Steps<Aggregated<TagNumbers, O>[]>;
  create(input: TagInput): Steps<Tag>;
  update(of: TagKey | TagGuarded, changes: TagChanges): Steps<Tag>;
  delete(of: TagKey | TagGuarded): Steps<Tag>;
  upsert(by: TagBy, input: TagUpsert): Steps<Tag>;
}

export interface ProductTagTx {
  get<const S extends ProductTagSelect | undefined = undefined, const I extends ProductTagInclude | undefined = undefined>(key: ProductTagKey, options?: Asked<ProductTagGraph, S, I>): Steps<Chosen<ProductTagGraph, S, I> | null>;
  list<const S extends ProductTagSelect | undefined = undefined, const I extends ProductTagInclude | undefined = undefined>(query?: ProductTagPage & Asked<ProductTagGraph, S, I>): Steps<Chosen<ProductTagGraph, S, I>[]>;
  aggregate<const O extends ProductTagAggregate>(options: O & Only<ProductTagAggregate, O>): Steps<Aggregated<ProductTagNumbers, O>[]>;
  create(input: ProductTagInput): Steps<ProductTag>;
  update(of: ProductTagKey | ProductTagGuarded, changes: ProductTagChanges): Steps<ProductTag>;
  delete(of: ProductTagKey | ProductTagGuarded): Steps<ProductTag>;
  upsert(by: ProductTagBy, input: ProductTagUpsert): Steps<ProductTag>;
}

export interface StockTx {
  get<const S extends StockSelect | undefined = undefined, const I extends StockInclude | undefined = undefined>(key: StockKey, options?: Asked<StockGraph, S, I>): Steps<Chosen<StockGraph, S, I> | null>;
  list<const S extends StockSelect | undefined = undefined, const I extends StockInclude | undefined = undefined>(query?: StockPage & Asked<StockGraph, S, I>): Steps<Chosen<StockGraph, S, I>[]>;
  aggregate<const O extends StockAggregate>(options: O & Only<StockAggregate, O>): Steps<Aggregated<StockNumbers, O>[]>;
  create(input: StockInput): Steps<Stock>;
  update(of: StockKey | StockGuarded, changes: StockChanges): Steps<Stock>;
  delete(of: StockKey | StockGuarded): Steps<Stock>;
  upsert(by: StockBy, input: StockUpsert): Steps<Stock>;
}

export interface CustomerTx {
  get<const S extends CustomerSelect | undefined = undefined, const I extends CustomerInclude | undefined = undefined>(key: CustomerKey, options?: Asked<CustomerGraph, S, I>): Steps<Chosen<CustomerGraph, S, I> | null>;
  list<const S extends CustomerSelect | undefined = undefined, const I extends CustomerInclude | undefined = undefined>(query?: CustomerPage & Asked<CustomerGraph, S, I>): Steps<Chosen<CustomerGraph, S, I>[]>;
  aggregate<const O extends CustomerAggregate>(options: O & Only<CustomerAggregate, O>): Steps<Aggregated<CustomerNumbers, O>[]>;
  create(input: CustomerInput): Steps<Customer>;
  update(of: CustomerKey | CustomerGuarded, changes: CustomerChanges): Steps<Customer>;
  delete(of: CustomerKey | CustomerGuarded): Steps<Customer>;
  upsert(by: CustomerBy, input: CustomerUpsert): Steps<Customer>;
}

export interface OrderTx {
  get<const S extends OrderSelect | undefined = undefined, const I extends OrderInclude | undefined = undefined>(key: OrderKey, options?: Asked<OrderGraph, S, I>): Steps<Chosen<OrderGraph, S, I> | null>;
  list<const S extends OrderSelect | undefined = undefined, const I extends OrderInclude | undefined = undefined>(query?: OrderPage & Asked<OrderGraph, S, I>): Steps<Chosen<OrderGraph, S, I>[]>;
  aggregate<const O extends OrderAggregate>(options: O & Only<OrderAggregate, O>): Steps<Aggregated<OrderNumbers, O>[]>;
  create(input: OrderInput): Steps<Order>;
  update(of: OrderKey | OrderGuarded, changes: OrderChanges): Steps<Order>;
  delete(of: OrderKey | OrderGuarded): Steps<Order>;
  upsert(by: OrderBy, input: OrderUpsert): Steps<Order>;
}

export interface OrderLineTx {
  get<const S extends OrderLineSelect | undefined = undefined, const I extends OrderLineInclude | undefined = undefined>(key: OrderLineKey, options?: Asked<OrderLineGraph, S, I>): Steps<Chosen<OrderLineGraph, S, I> | null>;
  list<const S extends OrderLineSelect | undefined = undefined, const I extends OrderLineInclude | undefined = undefined>(query?: OrderLinePage & Asked<OrderLineGraph, S, I>): Steps<Chosen<OrderLineGraph, S, I>[]>;
  aggregate<const O extends OrderLineAggregate>(options: O & Only<OrderLineAggregate, O>): Steps<Aggregated<OrderLineNumbers, O>[]>;
  create(input: OrderLineInput): Steps<OrderLine>;
  update(of: OrderLineKey | OrderLineGuarded, changes: OrderLineChanges): Steps<OrderLine>;
  delete(of: OrderLineKey | OrderLineGuarded): Steps<OrderLine>;
  upsert(by: OrderLineBy, input: OrderLineUpsert): Steps<OrderLine>;
}

export interface Tx {
  readonly products: ProductTx;
  readonly tags: TagTx;
  readonly productTags: ProductTagTx;
  readonly stocks: StockTx;
  readonly customers: CustomerTx;
  readonly orders: OrderTx;
  readonly orderLines: OrderLineTx;
  /** Without rules, and with what only the server may set. */
  readonly system: SystemTx;
}

export interface ProductSystemTx {
  get<const S extends ProductSelect | undefined = undefined, const I extends ProductInclude | undefined = undefined>(key: ProductKey, options?: Asked<ProductGraph, S, I>): Steps<Chosen<ProductGraph, S, I> | null>;
  list<const S extends ProductSelect | undefined = undefined, const I extends ProductInclude | undefined = undefined>(query?: ProductPage & Asked<ProductGraph, S, I>): Steps<Chosen<ProductGraph, S, I>[]>;
  aggregate<const O extends ProductAggregate>(options: O & Only<ProductAggregate, O>): Steps<Aggregated<ProductNumbers, O>[]>;
  create(input: ProductInput): Steps<Product>;
  update(of: ProductKey | ProductGuarded, changes: ProductChanges): Steps<Product>;
  delete(of: ProductKey | ProductGuarded): Steps<Product>;
  upsert(by: ProductBy, input: ProductUpsert): Steps<Product>;
}

export interface TagSystemTx {
  get<const S extends TagSelect | undefined = undefined, const I extends TagInclude | undefined = undefined>(key: TagKey, options?: Asked<TagGraph, S, I>): Steps<Chosen<TagGraph, S, I> | null>;
  list<const S extends TagSelect | undefined = undefined, const I extends TagInclude | undefined = undefined>(query?: TagPage & Asked<TagGraph, S, I>): Steps<Chosen<TagGraph, S, I>[]>;
  aggregate<const O extends TagAggregate>(options: O & Only<TagAggregate, O>): Steps<Aggregated<TagNumbers, O>[]>;
  create(input: TagInput): Steps<Tag>;
  update(of: TagKey | TagGuarded, changes: TagChanges): Steps<Tag>;
  delete(of: TagKey | TagGuarded): Steps<Tag>;
  upsert(by: TagBy, input: TagUpsert): Steps<Tag>;
}

export interface ProductTagSystemTx {
  get<const S extends ProductTagSelect | undefined = undefined, const I extends ProductTagInclude | undefined = undefined>(key: ProductTagKey, options?: Asked<ProductTagGraph, S, I>): Steps<Chosen<ProductTagGraph, S, I> | null>;
  list<const S extends ProductTagSelect | undefined = undefined, const I extends ProductTagInclude | undefined = undefined>(query?: ProductTagPage & Asked<ProductTagGraph, S, I>): Steps<Chosen<ProductTagGraph, S, I>[]>;
  aggregate<const O extends ProductTagAggregate>(options: O & Only<ProductTagAggregate, O>): Steps<Aggregated<ProductTagNumbers, O>[]>;
  create(input: ProductTagInput): Steps<ProductTag>;
  update(of: ProductTagKey | ProductTagGuarded, changes: ProductTagChanges): Steps<ProductTag>;
  delete(of: ProductTagKey | ProductTagGuarded): Steps<ProductTag>;
  upsert(by: ProductTagBy, input: ProductTagUpsert): Steps<ProductTag>;
}

export interface StockSystemTx {
  get<const S extends StockSelect | undefined = undefined, const I extends StockInclude | undefined = undefined>(key: StockKey, options?: Asked<StockGraph, S, I>): Steps<Chosen<StockGraph, S, I> | null>;
  list<const S extends StockSelect | undefined = undefined, const I extends StockInclude | undefined = undefined>(query?: StockPage & Asked<StockGraph, S, I>): Steps<Chosen<StockGraph, S, I>[]>;
  aggregate<const O extends StockAggregate>(options: O & Only<StockAggregate, O>): Steps<Aggregated<StockNumbers, O>[]>;
  create(input: StockInput): Steps<Stock>;
  update(of: StockKey | StockGuarded, changes: StockChanges): Steps<Stock>;
  delete(of: StockKey | StockGuarded): Steps<Stock>;
  upsert(by: StockBy, input: StockUpsert): Steps<Stock>;
}

export interface CustomerSystemTx {
  get<const S extends CustomerSelect | undefined = undefined, const I extends CustomerInclude | undefined = undefined>(key: CustomerKey, options?: Asked<CustomerGraph, S, I>): Steps<Chosen<CustomerGraph, S, I> | null>;
  list<const S extends CustomerSelect | undefined = undefined, const I extends CustomerInclude | undefined = undefined>(query?: CustomerPage & Asked<CustomerGraph, S, I>): Steps<Chosen<CustomerGraph, S, I>[]>;
  aggregate<const O extends CustomerAggregate>(options: O & Only<CustomerAggregate, O>): Steps<Aggregated<CustomerNumbers, O>[]>;
  create(input: CustomerInput): Steps<Customer>;
  update(of: CustomerKey | CustomerGuarded, changes: CustomerChanges): Steps<Customer>;
  delete(of: CustomerKey | CustomerGuarded): Steps<Customer>;
  upsert(by: CustomerBy, input: CustomerUpsert): Steps<Customer>;
}

export interface OrderSystemTx {
  get<const S extends OrderSelect | undefined = undefined, const I extends OrderInclude | undefined = undefined>(key: OrderKey, options?: Asked<OrderGraph, S, I>): Steps<Chosen<OrderGraph, S, I> | null>;
  list<const S extends OrderSelect | undefined = undefined, const I extends OrderInclude | undefined = undefined>(query?: OrderPage & Asked<OrderGraph, S, I>): Steps<Chosen<OrderGraph, S, I>[]>;
  aggregate<const O extends OrderAggregate>(options: O & Only<OrderAggregate, O>): Steps<Aggregated<OrderNumbers, O>[]>;
  create(input: OrderSystemInput): Steps<Order>;
  update(of: OrderKey | OrderGuarded, changes: OrderSystemChanges): Steps<Order>;
  delete(of: OrderKey | OrderGuarded): Steps<Order>;
  upsert(by: OrderBy, input: OrderSystemUpsert): Steps<Order>;
}

export interface OrderLineSystemTx {
  get<const S extends OrderLineSelect | undefined = undefined, const I extends OrderLineInclude | undefined = undefined>(key: OrderLineKey, options?: Asked<OrderLineGraph, S, I>): Steps<Chosen<OrderLineGraph, S, I> | null>;
  list<const S extends OrderLineSelect | undefined = undefined, const I extends OrderLineInclude | undefined = undefined>(query?: OrderLinePage & Asked<OrderLineGraph, S, I>): Steps<Chosen<OrderLineGraph, S, I>[]>;
  aggregate<const O extends OrderLineAggregate>(options: O & Only<OrderLineAggregate, O>): Steps<Aggregated<OrderLineNumbers, O>[]>;
  create(input: OrderLineSystemInput): Steps<OrderLine>;
  update(of: OrderLineKey | OrderLineGuarded, changes: OrderLineSystemChanges): Steps<OrderLine>;
  delete(of: OrderLineKey | OrderLineGuarded): Steps<OrderLine>;
  upsert(by: OrderLineBy, input: OrderLineSystemUpsert): Steps<OrderLine>;
}

export interface SystemTx {
  readonly products: ProductSystemTx;
  readonly tags: TagSystemTx;
  readonly productTags: ProductTagSystemTx;
  readonly stocks: StockSystemTx;
  readonly customers: CustomerSystemTx;
  readonly orders: OrderSystemTx;
  readonly orderLines: OrderLineSystemTx;
  readonly system: SystemTx;
}

export interface ProductCallerApi {
  get<const S extends ProductSelect | undefined = undefined, const I extends ProductInclude | undefined = undefined>(key: ProductKey, options?: Asked<ProductGraph, S, I>): globalThis.Promise<Chosen<ProductGraph, S, I> | null>;
  list<const S extends ProductSelect | undefined = undefined, const I extends ProductInclude | undefined = undefined>(query?: ProductPage & Asked<ProductGraph, S, I>): globalThis.Promise<Chosen<ProductGraph, S, I>[]>;
  aggregate<const O extends ProductAggregate>(options: O & Only<ProductAggregate, O>): globalThis.Promise<Aggregated<ProductNumbers, O>[]>;
  create(input: ProductInput): globalThis.Promise<Product>;
  update(of: ProductKey | ProductGuarded, changes: ProductChanges): globalThis.Promise<Product>;
  delete(of: ProductKey | ProductGuarded): globalThis.Promise<Product>;
  upsert(by: ProductBy, input: ProductUpsert): globalThis.Promise<Product>;
}

export interface TagCallerApi {
  get<const S extends TagSelect | undefined = undefined, const I extends TagInclude | undefined = undefined>(key: TagKey, options?: Asked<TagGraph, S, I>): globalThis.Promise<Chosen<TagGraph, S, I> | null>;
  list<const S extends TagSelect | undefined = undefined, const I extends TagInclude | undefined = undefined>(query?: TagPage & Asked<TagGraph, S, I>): globalThis.Promise<Chosen<TagGraph, S, I>[]>;
  aggregate<const O extends TagAggregate>(options: O & Only<TagAggregate, O>): globalThis.Promise<Aggregated<TagNumbers, O>[]>;
  create(input: TagInput): globalThis.Promise<Tag>;
  update(of: TagKey | TagGuarded, changes: TagChanges): globalThis.Promise<Tag>;
  delete(of: TagKey | TagGuarded): globalThis.Promise<Tag>;
  upsert(by: TagBy, input: TagUpsert): globalThis.Promise<Tag>;
}

export interface ProductTagCallerApi {
  get<const S extends ProductTagSelect | undefined = undefined, const I extends ProductTagInclude | undefined = undefined>(key: ProductTagKey, options?: Asked<ProductTagGraph, S, I>): globalThis.Promise<Chosen<ProductTagGraph, S, I> | null>;
  list<const S extends ProductTagSelect | undefined = undefined, const I extends ProductTagInclude | undefined = undefined>(query?: ProductTagPage & Asked<ProductTagGraph, S, I>): globalThis.Promise<Chosen<ProductTagGraph, S, I>[]>;
  aggregate<const O extends ProductTagAggregate>(options: O & Only<ProductTagAggregate, O>): globalThis.Promise<Aggregated<ProductTagNumbers, O>[]>;
  create(input: ProductTagInput): globalThis.Promise<ProductTag>;
  update(of: ProductTagKey | ProductTagGuarded, changes: ProductTagChanges): globalThis.Promise<ProductTag>;
  delete(of: ProductTagKey | ProductTagGuarded): globalThis.Promise<ProductTag>;
  upsert(by: ProductTagBy, input: ProductTagUpsert): globalThis.Promise<ProductTag>;
}

export interface StockCallerApi {
  get<const S extends StockSelect | undefined = undefined, const I extends StockInclude | undefined = undefined>(key: StockKey, options?: Asked<StockGraph, S, I>): globalThis.Promise<Chosen<StockGraph, S, I> | null>;
  list<const S extends StockSelect | undefined = undefined, const I extends StockInclude | undefined = undefined>(query?: StockPage & Asked<StockGraph, S, I>): globalThis.Promise<Chosen<StockGraph, S, I>[]>;
  aggregate<const O extends StockAggregate>(options: O & Only<StockAggregate, O>): globalThis.Promise<Aggregated<StockNumbers, O>[]>;
  create(input: StockInput): globalThis.Promise<Stock>;
  update(of: StockKey | StockGuarded, changes: StockChanges): globalThis.Promise<Stock>;
  delete(of: StockKey | StockGuarded): globalThis.Promise<Stock>;
  upsert(by: StockBy, input: StockUpsert): globalThis.Promise<Stock>;
}

export interface CustomerCallerApi {
  get<const S extends CustomerSelect | undefined = undefined, const I extends CustomerInclude | undefined = undefined>(key: CustomerKey, options?: Asked<CustomerGraph, S, I>): globalThis.Promise<Chosen<CustomerGraph, S, I> | null>;
  list<const S extends CustomerSelect | undefined = undefined, const I extends CustomerInclude | undefined = undefined>(query?: CustomerPage & Asked<CustomerGraph, S, I>): globalThis.Promise<Chosen<CustomerGraph, S, I>[]>;
  aggregate<const O extends CustomerAggregate>(options: O & Only<CustomerAggregate, O>): globalThis.Promise<Aggregated<CustomerNumbers, O>[]>;
  create(input: CustomerInput): globalThis.Promise<Customer>;
  update(of: CustomerKey | CustomerGuarded, changes: CustomerChanges): globalThis.Promise<Customer>;
  delete(of: CustomerKey | CustomerGuarded): globalThis.Promise<Customer>;
  upsert(by: CustomerBy, input: CustomerUpsert): globalThis.Promise<Customer>;
}

export interface OrderCallerApi {
  get<const S extends OrderSelect | undefined = undefined, const I extends OrderInclude | undefined = undefined>(key: OrderKey, options?: Asked<OrderGraph, S, I>): globalThis.Promise<Chosen<OrderGraph, S, I> | null>;
  list<const S extends OrderSelect | undefined = undefined, const I extends OrderInclude | undefined = undefined>(query?: OrderPage & Asked<OrderGraph, S, I>): globalThis.Promise<Chosen<OrderGraph, S, I>[]>;
  aggregate<const O extends OrderAggregate>(options: O & Only<OrderAggregate, O>): globalThis.Promise<Aggregated<OrderNumbers, O>[]>;
  create(input: OrderInput): globalThis.Promise<Order>;
  update(of: OrderKey | OrderGuarded, changes: OrderChanges): globalThis.Promise<Order>;
  delete(of: OrderKey | OrderGuarded): globalThis.Promise<Order>;
  upsert(by: OrderBy, input: OrderUpsert): globalThis.Promise<Order>;
}

export interface OrderLineCallerApi {
  get<const S extends OrderLineSelect | undefined = undefined, const I extends OrderLineInclude | undefined = undefined>(key: OrderLineKey, options?: Asked<OrderLineGraph, S, I>): globalThis.Promise<Chosen<OrderLineGraph, S, I> | null>;
  list<const S extends OrderLineSelect | undefined = undefined, const I extends OrderLineInclude | undefined = undefined>(query?: OrderLinePage & Asked<OrderLineGraph, S, I>): globalThis.Promise<Chosen<OrderLineGraph, S, I>[]>;
  aggregate<const O extends OrderLineAggregate>(options: O & Only<OrderLineAggregate, O>): globalThis.Promise<Aggregated<OrderLineNumbers, O>[]>;
  create(input: OrderLineInput): globalThis.Promise<OrderLine>;
  update(of: OrderLineKey | OrderLineGuarded, changes: OrderLineChanges): globalThis.Promise<OrderLine>;
  delete(of: OrderLineKey | OrderLineGuarded): globalThis.Promise<OrderLine>;
  upsert(by: OrderLineBy, input: OrderLineUpsert): globalThis.Promise<OrderLine>;
}

export interface CallerApi {
  readonly products: ProductCallerApi;
  readonly tags: TagCallerApi;
  readonly productTags: ProductTagCallerApi;
  readonly stocks: StockCallerApi;
  readonly customers: CustomerCallerApi;
  readonly orders: OrderCallerApi;
  readonly orderLines: OrderLineCallerApi;
  transact: <T>(run: (tx: Tx) => Steps<T>) => globalThis.Promise<T>;
  /** The same with the rights of a caller. */
  as: (caller: Caller) => CallerApi;
}

export interface ProductApi {
  get<const S extends ProductSelect | undefined = undefined, const I extends ProductInclude | undefined = undefined>(key: ProductKey, options?: Asked<ProductGraph, S, I>): globalThis.Promise<Chosen<ProductGraph, S, I> | null>;
  list<const S extends ProductSelect | undefined = undefined, const I extends ProductInclude | undefined = undefined>(query?: ProductPage & Asked<ProductGraph, S, I>): globalThis.Promise<Chosen<ProductGraph, S, I>[]>;
  aggregate<const O extends ProductAggregate>(options: O & Only<ProductAggregate, O>): globalThis.Promise<Aggregated<ProductNumbers, O>[]>;
  create(input: ProductInput): globalThis.Promise<Product>;
  update(of: ProductKey | ProductGuarded, changes: ProductChanges): globalThis.Promise<Product>;
  delete(of: ProductKey | ProductGuarded): globalThis.Promise<Product>;
  upsert(by: ProductBy, input: ProductUpsert): globalThis.Promise<Product>;
}

export interface TagApi {
  get<const S extends TagSelect | undefined = undefined, const I extends TagInclude | undefined = undefined>(key: TagKey, options?: Asked<TagGraph, S, I>): globalThis.Promise<Chosen<TagGraph, S, I> | null>;
  list<const S extends TagSelect | undefined = undefined, const I extends TagInclude | undefined = undefined>(query?: TagPage & Asked<TagGraph, S, I>): globalThis.Promise<Chosen<TagGraph, S, I>[]>;
  aggregate<const O extends TagAggregate>(options: O & Only<TagAggregate, O>): globalThis.Promise<Aggregated<TagNumbers, O>[]>;
  create(input: TagInput): globalThis.Promise<Tag>;
  update(of: TagKey | TagGuarded, changes: TagChanges): globalThis.Promise<Tag>;
  delete(of: TagKey | TagGuarded): globalThis.Promise<Tag>;
  upsert(by: TagBy, input: TagUpsert): globalThis.Promise<Tag>;
}

export interface ProductTagApi {
  get<const S extends ProductTagSelect | undefined = undefined, const I extends ProductTagInclude | undefined = undefined>(key: ProductTagKey, options?: Asked<ProductTagGraph, S, I>): globalThis.Promise<Chosen<ProductTagGraph, S, I> | null>;
  list<const S extends ProductTagSelect | undefined = undefined, const I extends ProductTagInclude | undefined = undefined>(query?: ProductTagPage & Asked<ProductTagGraph, S, I>): globalThis.Promise<Chosen<ProductTagGraph, S, I>[]>;
  aggregate<const O extends ProductTagAggregate>(options: O & Only<ProductTagAggregate, O>): globalThis.Promise<Aggregated<ProductTagNumbers, O>[]>;
  create(input: ProductTagInput): globalThis.Promise<ProductTag>;
  update(of: ProductTagKey | ProductTagGuarded, changes: ProductTagChanges): globalThis.Promise<ProductTag>;
  delete(of: ProductTagKey | ProductTagGuarded): globalThis.Promise<ProductTag>;
  upsert(by: ProductTagBy, input: ProductTagUpsert): globalThis.Promise<ProductTag>;
}

export interface StockApi {
  get<const S extends StockSelect | undefined = undefined, const I extends StockInclude | undefined = undefined>(key: StockKey, options?: Asked<StockGraph, S, I>): globalThis.Promise<Chosen<StockGraph, S, I> | null>;
  list<const S extends StockSelect | undefined = undefined, const I extends StockInclude | undefined = undefined>(query?: StockPage & Asked<StockGraph, S, I>): globalThis.Promise<Chosen<StockGraph, S, I>[]>;
  aggregate<const O extends StockAggregate>(options: O & Only<StockAggregate, O>): globalThis.Promise<Aggregated<StockNumbers, O>[]>;
  create(input: StockInput): globalThis.Promise<Stock>;
  update(of: StockKey | StockGuarded, changes: StockChanges): globalThis.Promise<Stock>;
  delete(of: StockKey | StockGuarded): globalThis.Promise<Stock>;
  upsert(by: StockBy, input: StockUpsert): globalThis.Promise<Stock>;
}

export interface CustomerApi {
  get<const S extends CustomerSelect | undefined = undefined, const I extends CustomerInclude | undefined = undefined>(key: CustomerKey, options?: Asked<CustomerGraph, S, I>): globalThis.Promise<Chosen<CustomerGraph, S, I> | null>;
  list<const S extends CustomerSelect | undefined = undefined, const I extends CustomerInclude | undefined = undefined>(query?: CustomerPage & Asked<CustomerGraph, S, I>): globalThis.Promise<Chosen<CustomerGraph, S, I>[]>;
  aggregate<const O extends CustomerAggregate>(options: O & Only<CustomerAggregate, O>): globalThis.Promise<Aggregated<CustomerNumbers, O>[]>;
  create(input: CustomerInput): globalThis.Promise<Customer>;
  update(of: CustomerKey | CustomerGuarded, changes: CustomerChanges): globalThis.Promise<Customer>;
  delete(of: CustomerKey | CustomerGuarded): globalThis.Promise<Customer>;
  upsert(by: CustomerBy, input: CustomerUpsert): globalThis.Promise<Customer>;
}

export interface OrderApi {
  get<const S extends OrderSelect | undefined = undefined, const I extends OrderInclude | undefined = undefined>(key: OrderKey, options?: Asked<OrderGraph, S, I>): globalThis.Promise<Chosen<OrderGraph, S, I> | null>;
  list<const S extends OrderSelect | undefined = undefined, const I extends OrderInclude | undefined = undefined>(query?: OrderPage & Asked<OrderGraph, S, I>): globalThis.Promise<Chosen<OrderGraph, S, I>[]>;
  aggregate<const O extends OrderAggregate>(options: O & Only<OrderAggregate, O>): globalThis.Promise<Aggregated<OrderNumbers, O>[]>;
  create(input: OrderSystemInput): globalThis.Promise<Order>;
  update(of: OrderKey | OrderGuarded, changes: OrderSystemChanges): globalThis.Promise<Order>;
  delete(of: OrderKey | OrderGuarded): globalThis.Promise<Order>;
  upsert(by: OrderBy, input: OrderSystemUpsert): globalThis.Promise<Order>;
}

export interface OrderLineApi {
  get<const S extends OrderLineSelect | undefined = undefined, const I extends OrderLineInclude | undefined = undefined>(key: OrderLineKey, options?: Asked<OrderLineGraph, S, I>): globalThis.Promise<Chosen<OrderLineGraph, S, I> | null>;
  list<const S extends OrderLineSelect | undefined = undefined, const I extends OrderLineInclude | undefined = undefined>(query?: OrderLinePage & Asked<OrderLineGraph, S, I>): globalThis.Promise<Chosen<OrderLineGraph, S, I>[]>;
  aggregate<const O extends OrderLineAggregate>(options: O & Only<OrderLineAggregate, O>): globalThis.Promise<Aggregated<OrderLineNumbers, O>[]>;
  create(input: OrderLineSystemInput): globalThis.Promise<OrderLine>;
  update(of: OrderLineKey | OrderLineGuarded, changes: OrderLineSystemChanges): globalThis.Promise<OrderLine>;
  delete(of: OrderLineKey | OrderLineGuarded): globalThis.Promise<OrderLine>;
  upsert(by: OrderLineBy, input: OrderLineSystemUpsert): globalThis.Promise<OrderLine>;
}

export interface Api {
  readonly products: ProductApi;
  readonly tags: TagApi;
  readonly productTags: ProductTagApi;
  readonly stocks: StockApi;
  readonly customers: CustomerApi;
  readonly orders: OrderApi;
  readonly orderLines: OrderLineApi;
  transact: <T>(run: (tx: SystemTx) => Steps<T>) => globalThis.Promise<T>;
  /** The same with the rights of a caller. */
  as: (caller: Caller) => CallerApi;
}

export interface WantedLine {
  productId: string;
  quantity: number;
}

export type OrderState = 'OPEN' | 'PAID' | 'SHIPPED' | 'CANCELLED';

export interface Product {
  id: number;
  sku: string;
  name: string;
  description: string | null;
  price: string;
  _version: number;
}

export type ProductKey = number | string;

/** Which record, and as which version it was read. */
export interface ProductGuarded {
  readonly id: number | string;
  readonly _version: number;
}

export interface ProductInput {
  sku: string;
  name: string;
  description?: string | null;
  price: string;
  /** New stocks that point to it. */
  stocks?: readonly StockInputWithoutProduct[] | null;
  /** New orderLines that point to it. */
  lines?: readonly OrderLineInputWithoutProduct[] | null;
  /** The keys of all that tags is to have. */
  tagIds?: readonly number[];
  /** What changes of tags; the rest of it stays. */
  _tags?: { add?: readonly number[]; remove?: readonly number[] };
}

export interface ProductChanges {
  sku?: string;
  name?: string;
  description?: string | null;
  price?: string;
  /** The keys of all that tags is to have. */
  tagIds?: readonly number[];
  /** What changes of tags; the rest of it stays. */
  _tags?: { add?: readonly number[]; remove?: readonly number[] };
  /** Added to the numbers that are stored, without reading them first. */
  _inc?: ProductIncrements;
}

export interface ProductIncrements {
  price?: string;
}

export interface ProductUpsert {
  sku?: string;
  name?: string;
  description?: string | null;
  price?: string;
  /** The keys of all that tags is to have. */
  tagIds?: readonly number[];
  /** What changes of tags; the rest of it stays. */
  _tags?: { add?: readonly number[]; remove?: readonly number[] };
}

export type ProductBy = 'id' | 'sku';

export interface ProductWhere {
  id?: IDFilter;
  sku?: StringFilter;
  name?: StringFilter;
  description?: StringFilter;
  price?: DecimalFilter;
  tags?: TagListWhere;
  stocks?: StockListWhere;
  lines?: OrderLineListWhere;
  and?: readonly ProductWhere[];
  or?: readonly ProductWhere[];
  not?: ProductWhere;
}

export interface ProductListWhere {
  some?: ProductWhere;
  none?: ProductWhere;
}

export interface ProductOrder {
  id?: SortOrder;
  sku?: SortOrder;
  name?: SortOrder;
  description?: SortOrder;
  price?: SortOrder;
}

export interface ProductPage {
  where?: ProductWhere;
  orderBy?: ProductOrder | readonly ProductOrder[];
  /** How many at the most. */
  first?: number;
  /** How many to leave out at the beginning. */
  offset?: number;
}

export interface ProductShape {
  select?: ProductSelect;
  include?: ProductInclude;
}

export interface ProductQuery extends ProductPage, ProductShape {
}

export interface ProductSelect {
  id?: boolean;
  sku?: boolean;
  name?: boolean;
  description?: boolean;
  price?: boolean;
  _version?: boolean;
  tags?: boolean | TagQuery;
  stocks?: boolean | StockQuery;
  lines?: boolean | OrderLineQuery;
}

export interface ProductInclude {
  tags?: boolean | TagQuery;
  stocks?: boolean | StockQuery;
  lines?: boolean | OrderLineQuery;
}

export interface ProductGraph {
  fields: Product;
  related: { tags: [TagGraph]; stocks: [StockGraph]; lines: [OrderLineGraph] };
}

export interface ProductAggregate {
  where?: ProductWhere;
  groupBy?: 'id' | 'sku' | 'name' | 'description' | 'price' | readonly ('id' | 'sku' | 'name' | 'description' | 'price')[];
  count?: boolean;
  countDistinct?: 'id' | 'sku' | 'name' | 'description' | 'price' | readonly ('id' | 'sku' | 'name' | 'description' | 'price')[];
  sum?: 'price' | readonly 'price'[];
  avg?: 'price' | readonly 'price'[];
  min?: 'id' | 'sku' | 'name' | 'description' | 'price' | readonly ('id' | 'sku' | 'name' | 'description' | 'price')[];
  max?: 'id' | 'sku' | 'name' | 'description' | 'price' | readonly ('id' | 'sku' | 'name' | 'description' | 'price')[];
}

export interface ProductNumbers {
  by: { id: number; sku: string; name: string; description: string | null; price: string };
  count: number;
  countDistinct: { id: number; sku: number; name: number; description: number; price: number };
  sum: { price: string | null };
  avg: { price: string | null };
  min: { id: number | null; sku: string | null; name: string | null; description: string | null; price: string | null };
  max: { id: number | null; sku: string | null; name: string | null; description: string | null; price: string | null };
}

export interface Tag {
  id: number;
  /** Compared and sorted without letter case. */
  name: string;
  _version: number;
}

export type TagKey = number | string;

/** Which record, and as which version it was read. */
export interface TagGuarded {
  readonly id: number | string;
  readonly _version: number;
}

export interface TagInput {
  /** Compared and sorted without letter case. */
  name: string;
  /** The keys of all that products is to have. */
  productIds?: readonly number[];
  /** What changes of products; the rest of it stays. */
  _products?: { add?: readonly number[]; remove?: readonly number[] };
}

export interface TagChanges {
  /** Compared and sorted without letter case. */
  name?: string;
  /** The keys of all that products is to have. */
  productIds?: readonly number[];
  /** What changes of products; the rest of it stays. */
  _products?: { add?: readonly number[]; remove?: readonly number[] };
}

export interface TagUpsert {
  /** Compared and sorted without letter case. */
  name?: string;
  /** The keys of all that products is to have. */
  productIds?: readonly number[];
  /** What changes of products; the rest of it stays. */
  _products?: { add?: readonly number[]; remove?: readonly number[] };
}

export type TagBy = 'id' | 'name';

export interface TagWhere {
  id?: IDFilter;
  name?: StringFilter;
  products?: ProductListWhere;
  and?: readonly TagWhere[];
  or?: readonly TagWhere[];
  not?: TagWhere;
}

export interface TagListWhere {
  some?: TagWhere;
  none?: TagWhere;
}

export interface TagOrder {
  id?: SortOrder;
  name?: SortOrder;
}

export interface TagPage {
  where?: TagWhere;
  orderBy?: TagOrder | readonly TagOrder[];
  /** How many at the most. */
  first?: number;
  /** How many to leave out at the beginning. */
  offset?: number;
}

export interface TagShape {
  select?: TagSelect;
  include?: TagInclude;
}

export interface TagQuery extends TagPage, TagShape {
}

export interface TagSelect {
  id?: boolean;
  name?: boolean;
  _version?: boolean;
  products?: boolean | ProductQuery;
}

export interface TagInclude {
  products?: boolean | ProductQuery;
}

export interface TagGraph {
  fields: Tag;
  related: { products: [ProductGraph] };
}

export interface TagAggregate {
  where?: TagWhere;
  groupBy?: 'id' | 'name' | readonly ('id' | 'name')[];
  count?: boolean;
  countDistinct?: 'id' | 'name' | readonly ('id' | 'name')[];
  min?: 'id' | 'name' | readonly ('id' | 'name')[];
  max?: 'id' | 'name' | readonly ('id' | 'name')[];
}

export interface TagNumbers {
  by: { id: number; name: string };
  count: number;
  countDistinct: { id: number; name: number };
  min: { id: number | null; name: string | null };
  max: { id: number | null; name: string | null };
}

/** Which tags a product has. */
export interface ProductTag {
  id: number;
  productId: number;
  tagId: number;
  _version: number;
}

export type ProductTagKey = number | string;

/** Which record, and as which version it was read. */
export interface ProductTagGuarded {
  readonly id: number | string;
  readonly _version: number;
}

export interface ProductTagInput {
  productId: number | string;
  tagId: number | string;
}

export interface ProductTagChanges {
  productId?: number | string;
  tagId?: number | string;
}

export interface ProductTagUpsert {
  productId?: number | string;
  tagId?: number | string;
}

export type ProductTagBy = 'id' | readonly ['productId', 'tagId'];

export interface ProductTagWhere {
  id?: IDFilter;
  productId?: IDFilter;
  product?: ProductWhere;
  tagId?: IDFilter;
  tag?: TagWhere;
  and?: readonly ProductTagWhere[];
  or?: readonly ProductTagWhere[];
  not?: ProductTagWhere;
}

export interface ProductTagListWhere {
  some?: ProductTagWhere;
  none?: ProductTagWhere;
}

export interface ProductTagOrder {
  id?: SortOrder;
  productId?: SortOrder;
  tagId?: SortOrder;
}

export interface ProductTagPage {
  where?: ProductTagWhere;
  orderBy?: ProductTagOrder | readonly ProductTagOrder[];
  /** How many at the most. */
  first?: number;
  /** How many to leave out at the beginning. */
  offset?: number;
}

export interface ProductTagShape {
  select?: ProductTagSelect;
  include?: ProductTagInclude;
}

export interface ProductTagQuery extends ProductTagPage, ProductTagShape {
}

export interface ProductTagSelect {
  id?: boolean;
  productId?: boolean;
  tagId?: boolean;
  _version?: boolean;
  product?: boolean | ProductShape;
  tag?: boolean | TagShape;
}

export interface ProductTagInclude {
  product?: boolean | ProductShape;
  tag?: boolean | TagShape;
}

export interface ProductTagGraph {
  fields: ProductTag;
  related: { product: ProductGraph; tag: TagGraph };
}

export interface ProductTagAggregate {
  where?: ProductTagWhere;
  groupBy?: 'id' | 'productId' | 'tagId' | readonly ('id' | 'productId' | 'tagId')[];
  count?: boolean;
  countDistinct?: 'id' | 'productId' | 'tagId' | readonly ('id' | 'productId' | 'tagId')[];
  min?: 'id' | 'productId' | 'tagId' | readonly ('id' | 'productId' | 'tagId')[];
  max?: 'id' | 'productId' | 'tagId' | readonly ('id' | 'productId' | 'tagId')[];
}

export interface ProductTagNumbers {
  by: { id: number; productId: number; tagId: number };
  count: number;
  countDistinct: { id: number; productId: number; tagId: number };
  min: { id: number | null; productId: number | null; tagId: number | null };
  max: { id: number | null; productId: number | null; tagId: number | null };
}

/** How many of a product are in one place. */
export interface Stock {
  id: number;
  productId: number;
  place: string;
  quantity: number;
  _version: number;
}

export type StockKey = number | string;

/** Which record, and as which version it was read. */
export interface StockGuarded {
  readonly id: number | string;
  readonly _version: number;
}

export interface StockInput {
  productId: number | string;
  place: string;
  quantity: number;
}

export interface StockInputWithoutProduct {
  place: string;
  quantity: number;
}

export interface StockChanges {
  productId?: number | string;
  place?: string;
  quantity?: number;
  /** Added to the numbers that are stored, without reading them first. */
  _inc?: StockIncrements;
}

export interface StockIncrements {
  quantity?: number;
}

export interface StockUpsert {
  productId?: number | string;
  place?: string;
  quantity?: number;
}

export type StockBy = 'id' | readonly ['productId', 'place'];

export interface StockWhere {
  id?: IDFilter;
  productId?: IDFilter;
  product?: ProductWhere;
  place?: StringFilter;
  quantity?: IntFilter;
  and?: readonly StockWhere[];
  or?: readonly StockWhere[];
  not?: StockWhere;
}

export interface StockListWhere {
  some?: StockWhere;
  none?: StockWhere;
}

export interface StockOrder {
  id?: SortOrder;
  productId?: SortOrder;
  place?: SortOrder;
  quantity?: SortOrder;
}

export interface StockPage {
  where?: StockWhere;
  orderBy?: StockOrder | readonly StockOrder[];
  /** How many at the most. */
  first?: number;
  /** How many to leave out at the beginning. */
  offset?: number;
}

export interface StockShape {
  select?: StockSelect;
  include?: StockInclude;
}

export interface StockQuery extends StockPage, StockShape {
}

export interface StockSelect {
  id?: boolean;
  productId?: boolean;
  place?: boolean;
  quantity?: boolean;
  _version?: boolean;
  product?: boolean | ProductShape;
}

export interface StockInclude {
  product?: boolean | ProductShape;
}

export interface StockGraph {
  fields: Stock;
  related: { product: ProductGraph };
}

export interface StockAggregate {
  where?: StockWhere;
  groupBy?: 'id' | 'productId' | 'place' | 'quantity' | readonly ('id' | 'productId' | 'place' | 'quantity')[];
  count?: boolean;
  countDistinct?: 'id' | 'productId' | 'place' | 'quantity' | readonly ('id' | 'productId' | 'place' | 'quantity')[];
  sum?: 'quantity' | readonly 'quantity'[];
  avg?: 'quantity' | readonly 'quantity'[];
  min?: 'id' | 'productId' | 'place' | 'quantity' | readonly ('id' | 'productId' | 'place' | 'quantity')[];
  max?: 'id' | 'productId' | 'place' | 'quantity' | readonly ('id' | 'productId' | 'place' | 'quantity')[];
}

export interface StockNumbers {
  by: { id: number; productId: number; place: string; quantity: number };
  count: number;
  countDistinct: { id: number; productId: number; place: number; quantity: number };
  sum: { quantity: number | null };
  avg: { quantity: number | null };
  min: { id: number | null; productId: number | null; place: string | null; quantity: number | null };
  max: { id: number | null; productId: number | null; place: string | null; quantity: number | null };
}

export interface Customer {
  id: number;
  /** The `sub` of its token. */
  subject: string | null;
  name: string;
  /** Compared and sorted without letter case. */
  email: string;
  _version: number;
}

export type CustomerKey = number | string;

/** Which record, and as which version it was read. */
export interface CustomerGuarded {
  readonly id: number | string;
  readonly _version: number;
}

export interface CustomerInput {
  /** The `sub` of its token. */
  subject?: string | null;
  name: string;
  /** Compared and sorted without letter case. */
  email: string;
  /** New orders that point to it. */
  orders?: readonly OrderInputWithoutCustomer[] | null;
}

export interface CustomerChanges {
  /** The `sub` of its token. */
  subject?: string | null;
  name?: string;
  /** Compared and sorted without letter case. */
  email?: string;
}

export interface CustomerUpsert {
  /** The `sub` of its token. */
  subject?: string | null;
  name?: string;
  /** Compared and sorted without letter case. */
  email?: string;
}

export type CustomerBy = 'id' | 'subject' | 'email';

export interface CustomerWhere {
  id?: IDFilter;
  subject?: StringFilter;
  name?: StringFilter;
  email?: StringFilter;
  orders?: OrderListWhere;
  and?: readonly CustomerWhere[];
  or?: readonly CustomerWhere[];
  not?: CustomerWhere;
}

export interface CustomerListWhere {
  some?: CustomerWhere;
  none?: CustomerWhere;
}

export interface CustomerOrder {
  id?: SortOrder;
  subject?: SortOrder;
  name?: SortOrder;
  email?: SortOrder;
}

export interface CustomerPage {
  where?: CustomerWhere;
  orderBy?: CustomerOrder | readonly CustomerOrder[];
  /** How many at the most. */
  first?: number;
  /** How many to leave out at the beginning. */
  offset?: number;
}

export interface CustomerShape {
  select?: CustomerSelect;
  include?: CustomerInclude;
}

export interface CustomerQuery extends CustomerPage, CustomerShape {
}

export interface CustomerSelect {
  id?: boolean;
  subject?: boolean;
  name?: boolean;
  email?: boolean;
  _version?: boolean;
  orders?: boolean | OrderQuery;
}

export interface CustomerInclude {
  orders?: boolean | OrderQuery;
}

export interface CustomerGraph {
  fields: Customer;
  related: { orders: [OrderGraph] };
}

export interface CustomerAggregate {
  where?: CustomerWhere;
  groupBy?: 'id' | 'subject' | 'name' | 'email' | readonly ('id' | 'subject' | 'name' | 'email')[];
  count?: boolean;
  countDistinct?: 'id' | 'subject' | 'name' | 'email' | readonly ('id' | 'subject' | 'name' | 'email')[];
  min?: 'id' | 'subject' | 'name' | 'email' | readonly ('id' | 'subject' | 'name' | 'email')[];
  max?: 'id' | 'subject' | 'name' | 'email' | readonly ('id' | 'subject' | 'name' | 'email')[];
}

export interface CustomerNumbers {
  by: { id: number; subject: string | null; name: string; email: string };
  count: number;
  countDistinct: { id: number; subject: number; name: number; email: number };
  min: { id: number | null; subject: string | null; name: string | null; email: string | null };
  max: { id: number | null; subject: string | null; name: string | null; email: string | null };
}

export interface Order {
  id: number;
  /** Counted up from 1, by logic.ts. */
  number: number;
  customerId: number;
  /**
   * How far it is.
   *
   * Changes only so: OPEN → PAID, CANCELLED; PAID → SHIPPED, CANCELLED.
   */
  state: OrderState;
  /** What the lines come to, kept up by logic.ts. */
  goods: string;
  placedAt: string;
  /**
   * Stored, so that orders are sorted, filtered and summed by it.
   *
   * Computed from goods.
   */
  total: string;
  /**
   * Nothing from 50.00 on.
   *
   * Computed from goods.
   */
  shipping: string;
  _version: number;
}

export type OrderKey = number | string;

/** Which record, and as which version it was read. */
export interface OrderGuarded {
  readonly id: number | string;
  readonly _version: number;
}

export interface OrderInput {
  customerId: number | string;
  /**
   * How far it is.
   *
   * Changes only so: OPEN → PAID, CANCELLED; PAID → SHIPPED, CANCELLED.
   */
  state?: OrderState;
  /** New orderLines that point to it. */
  lines?: readonly OrderLineInputWithoutOrder[] | null;
}

export interface OrderInputWithoutCustomer {
  /**
   * How far it is.
   *
   * Changes only so: OPEN → PAID, CANCELLED; PAID → SHIPPED, CANCELLED.
   */
  state?: OrderState;
  /** New orderLines that point to it. */
  lines?: readonly OrderLineInputWithoutOrder[] | null;
}

export interface OrderChanges {
  customerId?: number | string;
  /**
   * How far it is.
   *
   * Changes only so: OPEN → PAID, CANCELLED; PAID → SHIPPED, CANCELLED.
   */
  state?: OrderState;
}

export interface OrderUpsert {
  customerId?: number | string;
  /**
   * How far it is.
   *
   * Changes only so: OPEN → PAID, CANCELLED; PAID → SHIPPED, CANCELLED.
   */
  state?: OrderState;
}

export type OrderBy = 'id' | 'number';

export interface OrderWhere {
  id?: IDFilter;
  number?: IntFilter;
  customerId?: IDFilter;
  customer?: CustomerWhere;
  state?: OrderStateFilter;
  goods?: DecimalFilter;
  placedAt?: DateTimeFilter;
  total?: DecimalFilter;
  lines?: OrderLineListWhere;
  and?: readonly OrderWhere[];
  or?: readonly OrderWhere[];
  not?: OrderWhere;
}

export interface OrderListWhere {
  some?: OrderWhere;
  none?: OrderWhere;
}

export interface OrderOrder {
  id?: SortOrder;
  number?: SortOrder;
  customerId?: SortOrder;
  state?: SortOrder;
  goods?: SortOrder;
  placedAt?: SortOrder;
  total?: SortOrder;
}

export interface OrderPage {
  where?: OrderWhere;
  orderBy?: OrderOrder | readonly OrderOrder[];
  /** How many at the most. */
  first?: number;
  /** How many to leave out at the beginning. */
  offset?: number;
}

export interface OrderShape {
  select?: OrderSelect;
  include?: OrderInclude;
}

export interface OrderQuery extends OrderPage, OrderShape {
}

export interface OrderSelect {
  id?: boolean;
  number?: boolean;
  customerId?: boolean;
  state?: boolean;
  goods?: boolean;
  placedAt?: boolean;
  total?: boolean;
  shipping?: boolean;
  _version?: boolean;
  customer?: boolean | CustomerShape;
  lines?: boolean | OrderLineQuery;
}

export interface OrderInclude {
  customer?: boolean | CustomerShape;
  lines?: boolean | OrderLineQuery;
}

export interface OrderGraph {
  fields: Order;
  related: { customer: CustomerGraph; lines: [OrderLineGraph] };
}

export interface OrderAggregate {
  where?: OrderWhere;
  groupBy?: 'id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total' | 'placedAtYear' | 'placedAtMonth' | 'placedAtWeek' | 'placedAtDay' | 'placedAtHour' | readonly ('id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total' | 'placedAtYear' | 'placedAtMonth' | 'placedAtWeek' | 'placedAtDay' | 'placedAtHour')[];
  count?: boolean;
  countDistinct?: 'id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total' | readonly ('id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total')[];
  sum?: 'number' | 'goods' | 'total' | readonly ('number' | 'goods' | 'total')[];
  avg?: 'number' | 'goods' | 'total' | readonly ('number' | 'goods' | 'total')[];
  min?: 'id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total' | readonly ('id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total')[];
  max?: 'id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total' | readonly ('id' | 'number' | 'customerId' | 'state' | 'goods' | 'placedAt' | 'total')[];
}

export interface OrderNumbers {
  by: { id: number; number: number; customerId: number; state: OrderState; goods: string; placedAt: string; total: string; placedAtYear: string; placedAtMonth: string; placedAtWeek: string; placedAtDay: string; placedAtHour: string };
  count: number;
  countDistinct: { id: number; number: number; customerId: number; state: number; goods: number; placedAt: number; total: number };
  sum: { number: number | null; goods: string | null; total: string | null };
  avg: { number: number | null; goods: string | null; total: string | null };
  min: { id: number | null; number: number | null; customerId: number | null; state: OrderState | null; goods: string | null; placedAt: string | null; total: string | null };
  max: { id: number | null; number: number | null; customerId: number | null; state: OrderState | null; goods: string | null; placedAt: string | null; total: string | null };
}

export interface OrderLine {
  id: number;
  orderId: number;
  productId: number;
  quantity: number;
  /** That of the product when it was ordered. */
  price: string;
  /** Computed from price, quantity. */
  total: string;
  _version: number;
}

export type OrderLineKey = number | string;

/** Which record, and as which version it was read. */
export interface OrderLineGuarded {
  readonly id: number | string;
  readonly _version: number;
}

export interface OrderLineInput {
  orderId: number | string;
  productId: number | string;
  quantity: number;
}

export interface OrderLineInputWithoutOrder {
  productId: number;
  quantity: number;
}

export interface OrderLineInputWithoutProduct {
  orderId: number;
  quantity: number;
}

export interface OrderLineChanges {
  orderId?: number | string;
  productId?: number | string;
  quantity?: number;
  /** Added to the numbers that are stored, without reading them first. */
  _inc?: OrderLineIncrements;
}

export interface OrderLineIncrements {
  quantity?: number;
}

export interface OrderLineUpsert {
  orderId?: number | string;
  productId?: number | string;
  quantity?: number;
}

export type OrderLineBy = 'id' | readonly ['orderId', 'productId'];

export interface OrderLineWhere {
  id?: IDFilter;
  orderId?: IDFilter;
  order?: OrderWhere;
  productId?: IDFilter;
  product?: ProductWhere;
  quantity?: IntFilter;
  price?: DecimalFilter;
  and?: readonly OrderLineWhere[];
  or?: readonly OrderLineWhere[];
  not?: OrderLineWhere;
}

export interface OrderLineListWhere {
  some?: OrderLineWhere;
  none?: OrderLineWhere;
}

export interface OrderLineOrder {
  id?: SortOrder;
  orderId?: SortOrder;
  productId?: SortOrder;
  quantity?: SortOrder;
  price?: SortOrder;
}

export interface OrderLinePage {
  where?: OrderLineWhere;
  orderBy?: OrderLineOrder | readonly OrderLineOrder[];
  /** How many at the most. */
  first?: number;
  /** How many to leave out at the beginning. */
  offset?: number;
}

export interface OrderLineShape {
  select?: OrderLineSelect;
  include?: OrderLineInclude;
}

export interface OrderLineQuery extends OrderLinePage, OrderLineShape {
}

export interface OrderLineSelect {
  id?: boolean;
  orderId?: boolean;
  productId?: boolean;
  quantity?: boolean;
  price?: boolean;
  total?: boolean;
  _version?: boolean;
  order?: boolean | OrderShape;
  product?: boolean | ProductShape;
}

export interface OrderLineInclude {
  order?: boolean | OrderShape;
  product?: boolean | ProductShape;
}

export interface OrderLineGraph {
  fields: OrderLine;
  related: { order: OrderGraph; product: ProductGraph };
}

export interface OrderLineAggregate {
  where?: OrderLineWhere;
  groupBy?: 'id' | 'orderId' | 'productId' | 'quantity' | 'price' | readonly ('id' | 'orderId' | 'productId' | 'quantity' | 'price')[];
  count?: boolean;
  countDistinct?: 'id' | 'orderId' | 'productId' | 'quantity' | 'price' | readonly ('id' | 'orderId' | 'productId' | 'quantity' | 'price')[];
  sum?: 'quantity' | 'price' | readonly ('quantity' | 'price')[];
  avg?: 'quantity' | 'price' | readonly ('quantity' | 'price')[];
  min?: 'id' | 'orderId' | 'productId' | 'quantity' | 'price' | readonly ('id' | 'orderId' | 'productId' | 'quantity' | 'price')[];
  max?: 'id' | 'orderId' | 'productId' | 'quantity' | 'price' | readonly ('id' | 'orderId' | 'productId' | 'quantity' | 'price')[];
}

export interface OrderLineNumbers {
  by: { id: number; orderId: number; productId: number; quantity: number; price: string };
  count: number;
  countDistinct: { id: number; orderId: number; productId: number; quantity: number; price: number };
  sum: { quantity: number | null; price: string | null };
  avg: { quantity: number | null; price: string | null };
  min: { id: number | null; orderId: number | null; productId: number | null; quantity: number | null; price: string | null };
  max: { id: number | null; orderId: number | null; productId: number | null; quantity: number | null; price: string | null };
}

export interface IDFilter {
  /** equal to */
  eq?: number | string;
  /** not equal to; null is not equal to anything */
  ne?: number | string;
  /** greater than */
  gt?: number | string;
  /** greater than or equal to */
  gte?: number | string;
  /** less than */
  lt?: number | string;
  /** less than or equal to */
  lte?: number | string;
  /** one of these, 10000 at most */
  in?: readonly (number | string)[];
  /** whether there is no value */
  isNull?: boolean;
}

export interface StringFilter {
  /** equal to */
  eq?: string;
  /** not equal to; null is not equal to anything */
  ne?: string;
  /** greater than */
  gt?: string;
  /** greater than or equal to */
  gte?: string;
  /** less than */
  lt?: string;
  /** less than or equal to */
  lte?: string;
  /** one of these, 10000 at most */
  in?: readonly string[];
  /** contains this text of 500 characters at most, taken literally; letter case counts */
  contains?: string;
  /** begins with this text, taken literally; letter case counts */
  startsWith?: string;
  /** ends with this text, taken literally; letter case counts */
  endsWith?: string;
  /** whether there is no value */
  isNull?: boolean;
}

export interface DecimalFilter {
  /** equal to */
  eq?: string;
  /** not equal to; null is not equal to anything */
  ne?: string;
  /** greater than */
  gt?: string;
  /** greater than or equal to */
  gte?: string;
  /** less than */
  lt?: string;
  /** less than or equal to */
  lte?: string;
  /** one of these, 10000 at most */
  in?: readonly string[];
  /** whether there is no value */
  isNull?: boolean;
}

export interface IntFilter {
  /** equal to */
  eq?: number;
  /** not equal to; null is not equal to anything */
  ne?: number;
  /** greater than */
  gt?: number;
  /** greater than or equal to */
  gte?: number;
  /** less than */
  lt?: number;
  /** less than or equal to */
  lte?: number;
  /** one of these, 10000 at most */
  in?: readonly number[];
  /** whether there is no value */
  isNull?: boolean;
}

export interface OrderStateFilter {
  /** equal to */
  eq?: OrderState;
  /** not equal to; null is not equal to anything */
  ne?: OrderState;
  /** one of these, 10000 at most */
  in?: readonly OrderState[];
  /** whether there is no value */
  isNull?: boolean;
}

export interface DateTimeFilter {
  /** equal to */
  eq?: string;
  /** not equal to; null is not equal to anything */
  ne?: string;
  /** greater than */
  gt?: string;
  /** greater than or equal to */
  gte?: string;
  /** less than */
  lt?: string;
  /** less than or equal to */
  lte?: string;
  /** one of these, 10000 at most */
  in?: readonly string[];
  /** whether there is no value */
  isNull?: boolean;
}

export type SortOrder = 'ASC' | 'DESC';

/** `select`: these fields and related records alone. `include`: related records beside all fields. */
export interface Asked<G extends { fields: object; related: object }, S, I> {
  select?: S & Known<G, S>;
  include?: I & Known<G, I>;
}

/** What an answer has, by what was asked for. */
export type Chosen<G extends { fields: object; related: object }, S, I> = [S] extends [object]
  ? Picked<G, S> & ([I] extends [object] ? Picked<G, I> : unknown)
  : G['fields'] & ([I] extends [object] ? Picked<G, I> : unknown);

export type Picked<G extends { fields: object; related: object }, S> = {
  [K in keyof S as S[K] extends false | undefined ? never : K]: K extends keyof G['fields']
    ? G['fields'][K]
    : K extends keyof G['related']
      ? Related<G['related'][K], S[K]>
      : never;
};

export type Related<R, O> = R extends [infer G extends { fields: object; related: object }]
  ? Chosen<G, O extends { select: infer S } ? S : undefined, O extends { include: infer I } ? I : undefined>[]
  : R extends { fields: object; related: object }
    ? Chosen<R, O extends { select: infer S } ? S : undefined, O extends { include: infer I } ? I : undefined>
    : R;

/** Makes an error of names that there are not. */
export type Known<G extends { fields: object; related: object }, S> = {
  [K in keyof S]: K extends keyof G['fields']
    ? unknown
    : K extends keyof G['related']
      ? S[K] extends object
        ? {
            [O in keyof S[K]]: O extends 'select' | 'include'
              ? Known<OneOf<G['related'][K]>, S[K][O]>
              : O extends 'where' | 'orderBy' | 'first' | 'offset'
                ? unknown
                : never;
          }
        : unknown
      : never;
};

export type OneOf<R> = R extends [infer G extends { fields: object; related: object }] ? G : R extends { fields: object; related: object } ? R : never;

export type Only<A, O> = { [K in keyof O]: K extends keyof A ? unknown : never };

/** One row of an aggregate, by what was asked for. */
export type Aggregated<N extends { by: object; count: number }, O> = {
  [K in keyof O & keyof N]: K extends 'count'
    ? number
    : { [F in (O[K] extends readonly (infer L)[] ? L : O[K]) & keyof N[K]]: N[K][F] };
} & (O extends { groupBy: infer B }
  ? { by: { [F in (B extends readonly (infer L)[] ? L : B) & keyof N['by']]: N['by'][F] } }
  : unknown);

/** Exact decimal numbers as texts, such as "12.50"; whole numbers may be given as numbers.
 *
 * `add` and `sub` have as many digits behind the point as the longer of both, `mul` as many as both together; `div` and `round` have
 * as many as they are told to, rounded half to even.
 */
export const decimal = {
  add: (a: string | number | bigint, b: string | number | bigint): string => sumOf(a, b, 1n),
  sub: (a: string | number | bigint, b: string | number | bigint): string => sumOf(a, b, -1n),
  mul(a: string | number | bigint, b: string | number | bigint): string {
    const [x, y] = [exactly(a), exactly(b)];
    return written(x.units * y.units, x.scale + y.scale);
  },
  div(a: string | number | bigint, b: string | number | bigint, scale: number): string {
    const [x, y] = [exactly(a), exactly(b)];
    if (y.units === 0n) throw new RangeError(`decimal.div: ${a} cannot be divided by zero`);
    const more = y.scale - x.scale + wholeScale(scale);
    const [over, under] =
      more < 0 ? [x.units, y.units * 10n ** BigInt(-more)] : [x.units * 10n ** BigInt(more), y.units];
    return written(quotient(over, under), scale);
  },
  /** -1, 0 or 1: whether the first is less, equal or greater. */
  cmp(a: string | number | bigint, b: string | number | bigint): -1 | 0 | 1 {
    const [x, y] = aligned(a, b);
    return x < y ? -1 : x > y ? 1 : 0;
  },
  round: (a: string | number | bigint, scale: number): string => decimal.div(a, 1, scale),
};

function exactly(given: string | number | bigint): { units: bigint; scale: number } {
  if (typeof given === 'number' && !Number.isSafeInteger(given))
    throw new TypeError(
      `decimal: ${given} is no whole number that is exact. Give it as a text, such as "12.50"`,
    );
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(given)) ?? [];
  if (whole === undefined) throw new TypeError(`decimal: "${given}" is no number such as "12.50"`);
  const units = BigInt(whole + fraction);
  return { units: sign === '-' ? -units : units, scale: fraction.length };
}

function wholeScale(scale: number): number {
  if (Number.isInteger(scale) && scale >= 0 && scale <= 1000) return scale;
  throw new RangeError(`decimal: a number has 0 or more digits behind the point, not ${scale}`);
}

/** The units of both at the scale of the longer one. */
function aligned(a: string | number | bigint, b: string | number | bigint): [bigint, bigint, number] {
  const [x, y] = [exactly(a), exactly(b)];
  const scale = Math.max(x.scale, y.scale);
  const at = (each: { units: bigint; scale: number }) => each.units * 10n ** BigInt(scale - each.scale);
  return [at(x), at(y), scale];
}

function sumOf(a: string | number | bigint, b: string | number | bigint, sign: bigint): string {
  const [x, y, scale] = aligned(a, b);
  return written(x + sign * y, scale);
}

/** Half to even, as averages are. */
function quotient(over: bigint, under: bigint): bigint {
  const isNegative = over < 0n !== under < 0n;
  const [a, b] = [over < 0n ? -over : over, under < 0n ? -under : under];
  const [whole, twice] = [a / b, 2n * (a % b)];
  const rounded = twice > b || (twice === b && whole % 2n === 1n) ? whole + 1n : whole;
  return isNegative ? -rounded : rounded;
}

function written(units: bigint, scale: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const sign = units < 0n ? '-' : '';
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
