/** A deployment that has everything a schema file can say which shows in the API description. */

export const rich = {
  sdl: `
    "What light is."
    enum Color { "Like blood." RED GREEN BLUE @deprecated(reason: "Nobody sees it.") }
    "Everything at once."
    type Thing @resource {
      id: UUID!
      "What it says."
      text: String @constraint(minLength: 2, maxLength: 8, pattern: "^[a-zé/]*$")
      mail: String @constraint(format: "email")
      site: String @constraint(format: "uri")
      ip4: String @constraint(format: "ipv4")
      ip6: String @constraint(format: "ipv6")
      when: String @constraint(format: "date-time")
      int: Int! @constraint(min: -5, max: 500) @default(value: 7)
      float: Float @constraint(min: 0.5)
      price: Decimal @decimal(scale: 2)
      big: BigInt
      rates: [Decimal!] @decimal(scale: 6)
      bool: Boolean
      color: Color
      colors: [Color!]! @default(value: [RED])
      words: [String!] @constraint(maxLength: 3)
      sizes: [Int!] @constraint(min: 1)
      at: DateTime
      day: Date
      uuid: UUID
      json: JSON
      jsons: [JSON!]
      code: String @unique
      old: String @deprecated(reason: "Use text.")
      limit: Int
      fixed: String @readonly @default(value: "fixed")
      createdAt: DateTime! @createdAt
      updatedAt: DateTime! @updatedAt
      owner: Owner!
      parent: Thing
      children: [Thing!]!
      label: Label
      secret: Secret
    }
    type Owner @resource @search(fields: ["name"]) { id: ID! name: String! things: [Thing!]! labels: [Label!]! @through(type: "OwnerLabel") }
    type Label @resource { name: ID! @key weight: Float things: [Thing!]! }
    type OwnerLabel @resource(rest: false) { id: ID! owner: Owner! @onDelete(do: CASCADE) label: Label! @onDelete(do: CASCADE) }
    type Stock @resource(only: [LIST]) { id: ID! name: String! amount: Int! }
    type Inbox @resource(only: [CREATE]) { id: ID! body: String! }
    type Signed @resource(only: [CREATE, GET]) { id: ID! by: String! @set(claim: "sub") }
    type Full @resource { id: ID! note: String }
    "Has the name that the body of a new thing would have."
    type ThingCreate @resource { id: ID! problem: JSON! }
    type Problem @resource { code: String! @key @constraint(maxLength: 8) }
    type Secret @resource(rest: false) { id: ID! }
  `,
  data: {
    owners: [
      { id: 1, name: 'Ann' },
      { id: 2, name: 'Bob' },
    ],
    labels: [{ name: 'a b/ü', weight: 1.5 }],
    ownerLabels: [{ id: 1, ownerId: 2, labelId: 'a b/ü' }],
    stocks: [
      { id: 1, name: 'nails', amount: 3 },
      { id: 2, name: 'screws', amount: 2_147_483_647 },
    ],
    signeds: [{ id: 1, by: 'Ann' }],
    fulls: [{ id: Number.MAX_SAFE_INTEGER }],
    secrets: [{ id: 1 }],
  },
};
