/** What a client writes to a WebSocket by hand. */

/** A text message as a client sends it (RFC 6455, section 5.2); a mask of zeros leaves it as it is. */
export function frame(message: object): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(14);
  head.writeUInt16BE(0x81ff);
  head.writeBigUInt64BE(BigInt(text.length), 2);
  return Buffer.concat([head, text]);
}
