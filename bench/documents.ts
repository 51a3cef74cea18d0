/** The GraphQL documents that are asked for; the handlers written by hand know these texts and no others. */

export const BOOK = 'query($id: ID!) { book(id: $id) { id title author pages } }';
export const NESTED =
  'query($first: Int!) { users(first: $first) { name posts { title comments { body } } } }';
