/** The ordinary work of a client, as documents of GraphQL. */

export const LIST = /* GraphQL */ `
  query List($least: Int!) {
    books(where: { pages: { gte: $least } }, orderBy: [{ pages: ASC }], first: 3) {
      id
      title
      genre
      tags
      author {
        id
        name
      }
    }
  }
`;

export const PAGE = /* GraphQL */ `
  query Page($first: Int!, $after: String) {
    booksConnection(first: $first, after: $after, orderBy: [{ pages: ASC }]) {
      edges {
        cursor
        node {
          id
          title
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
      totalCount
    }
  }
`;

export const JUMP = /* GraphQL */ `
  query Jump($offset: Int!) {
    books(first: 2, offset: $offset, orderBy: [{ pages: ASC }]) {
      id
      title
    }
  }
`;

export const NOTES = /* GraphQL */ `
  query Notes {
    notes {
      id
      title
      done
      _version
    }
  }
`;

export const CREATE = /* GraphQL */ `
  mutation Create($title: String!) {
    createNote(title: $title) {
      id
      title
      done
      _version
    }
  }
`;

export const UPDATE = /* GraphQL */ `
  mutation Update($id: ID!, $title: String, $version: Int) {
    updateNote(id: $id, title: $title, ifVersion: $version) {
      id
      title
      _version
    }
  }
`;

export const ADD = /* GraphQL */ `
  mutation Add($records: [AuthorInput!]!) {
    createAuthors(records: $records) {
      id
      name
      books {
        title
        pages
      }
    }
  }
`;
