/** What Relay's compiler reads; what it makes of these is in `generated/relay`. */

import { graphql } from 'relay-runtime';

export const documents = () => [
  graphql`
    query documentsListQuery($first: Int!, $after: String, $where: BookWhere) {
      booksConnection(first: $first, after: $after, where: $where) @connection(key: "List_booksConnection") {
        __id
        edges {
          node {
            ...documentsBook
          }
        }
      }
    }
  `,
  graphql`
    fragment documentsBook on Book {
      id
      title
      pages
      genre
      author {
        id
        name
      }
      _version
    }
  `,
  graphql`
    fragment documentsBooks on Author
    @refetchable(queryName: "documentsBooksQuery")
    @argumentDefinitions(first: { type: "Int", defaultValue: 7 }, after: { type: "String" }) {
      booksConnection(first: $first, after: $after) @connection(key: "Author_booksConnection") {
        edges {
          node {
            id
            title
          }
        }
      }
    }
  `,
  graphql`
    query documentsNodeQuery($id: UUID!) {
      node(id: $id) {
        __typename
        id
        ...documentsBook @alias(as: "book")
      }
    }
  `,
  graphql`
    mutation documentsCreateMutation($title: String!, $authorId: UUID!, $connections: [ID!]!) {
      createBook(title: $title, authorId: $authorId)
        @appendNode(connections: $connections, edgeTypeName: "BookEdge") {
        ...documentsBook @alias(as: "book")
      }
    }
  `,
  graphql`
    mutation documentsUpdateMutation($id: UUID!, $pages: Int, $version: Int) {
      updateBook(id: $id, pages: $pages, ifVersion: $version) {
        id
        pages
        _version
      }
    }
  `,
  graphql`
    mutation documentsDeleteMutation($id: UUID!) {
      deleteBook(id: $id) {
        id
      }
    }
  `,
];
