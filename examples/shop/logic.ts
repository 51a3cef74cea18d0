/** How the shop works: orders are placed, numbered and summed up inside of one transaction, and mailed after its commit. */

import { appendFile } from 'node:fs/promises';
import { decimal, type Logic, type Tx } from './duet.gen.ts';

/** Orders of so much are sent for nothing. */
const FREE_FROM = '50.00';
const SHIPPING = '4.90';

function shippingOf(goods: string): string {
  return decimal.cmp(goods, FREE_FROM) < 0 && decimal.cmp(goods, 0) > 0 ? SHIPPING : '0.00';
}

/** What the lines of an order come to changes by this; its total follows. */
function* add(tx: Tx, orderId: number, amount: string) {
  const order = yield* tx.system.orders.get(orderId);
  if (order) yield* tx.system.orders.update(orderId, { goods: decimal.add(order.goods, amount) });
}

export default {
  Order: {
    *beforeCreate({ tx, input }) {
      const [row] = yield* tx.system.orders.aggregate({ max: 'number' });
      return { ...input, number: (row?.max.number ?? 0) + 1 };
    },
    /** The mails are lines of a file here. A service that sends them takes `id`, which is the same at every attempt. */
    async afterCreate({ record, api, id }) {
      const order = await api.orders.get(record.id);
      const customer = order && (await api.customers.get(order.customerId));
      if (!customer) return;
      const mail = { id, to: customer.email, text: `Your order ${order.number} comes to ${order.total}.` };
      await appendFile(process.env['SHOP_MAILS'] ?? 'mails.ndjson', `${JSON.stringify(mail)}\n`);
    },
    shipping: ({ goods }) => shippingOf(goods),
    total: ({ goods }) => decimal.add(goods, shippingOf(goods)),
  },
  OrderLine: {
    *beforeCreate({ tx, input, refuse }) {
      const product = yield* tx.system.products.get(input.productId);
      if (!product) throw refuse('There is no such product.', 'productId');
      yield* add(tx, input.orderId, decimal.mul(product.price, input.quantity));
      return { ...input, price: product.price };
    },
    *beforeUpdate({ tx, input, record, refuse }) {
      for (const field of ['orderId', 'productId'] as const)
        if ((input[field] ?? record[field]) !== record[field])
          throw refuse('A line stays with its order and its product. Delete it, and add another.', field);
      const more = (input.quantity ?? record.quantity) - record.quantity + (input._inc?.quantity ?? 0);
      if (more !== 0) yield* add(tx, record.orderId, decimal.mul(record.price, more));
    },
    *beforeDelete({ tx, record }) {
      yield* add(tx, record.orderId, decimal.mul(record.price, -record.quantity));
    },
    total: ({ price, quantity }) => decimal.mul(price, quantity),
  },
  Mutation: {
    *placeOrder({ tx, refuse }, { customerId, lines }) {
      const customer = yield* tx.customers.get(customerId);
      if (!customer) throw refuse('There is no such customer.', 'customerId');
      if (lines.length === 0) throw refuse('There is nothing to order.', 'lines');
      const order = yield* tx.system.orders.create({ customerId: customer.id });
      for (const { productId, quantity } of lines) {
        const [stock] = yield* tx.system.stocks.list({
          where: { productId: { eq: productId }, quantity: { gte: quantity } },
          orderBy: { quantity: 'DESC' },
          first: 1,
        });
        if (!stock) throw refuse(`There are no ${quantity} of product ${productId} in one place.`, 'lines');
        yield* tx.system.stocks.update(stock.id, { _inc: { quantity: -quantity } });
        yield* tx.system.orderLines.create({ orderId: order.id, productId, quantity });
      }
      return order;
    },
  },
} satisfies Logic;
