/** A deployment that the console has never seen: every kind of field, key, relation and door. */

const sdl = `
"How far a piece of work has come."
enum Stage { "Not begun." PLANNED ACTIVE DONE ABANDONED @deprecated(reason: "Delete it instead.") }

"Where things are kept and shown."
type Museum @resource {
  id: ID!
  name: String! @constraint(minLength: 1, maxLength: 200)
  opened: Date
  halls: [Hall!]!
}

type Hall @resource {
  id: ID!
  name: String! @constraint(minLength: 1, maxLength: 100)
  floor: Int! @default(value: 0) @constraint(min: -3, max: 40)
  museum: Museum! @onDelete(do: CASCADE)
  exhibits: [Exhibit!]!
}

"Somebody who made something, or keeps it."
type Person @resource(plural: "people") {
  id: UUID!
  name: String! @constraint(minLength: 1, maxLength: 300)
  email: String @constraint(format: "email") @unique
  retired: Boolean
  mentor: Person
  students: [Person!]!
  made: [Exhibit!]! @inverse(of: "maker")
  keeps: [Exhibit!]! @inverse(of: "keeper")
}

"A thing in a hall."
type Exhibit @resource @search(fields: ["title", "label"]) {
  id: ID!
  title: String! @constraint(minLength: 1, maxLength: 500)
  "What a visitor reads beside it."
  label: String
  stage: Stage! @default(value: PLANNED)
  tags: [String!]! @default(value: [])
  weight: Float @constraint(min: 0)
  onLoan: Boolean! @default(value: false)
  inspectedAt: DateTime
  acquired: Date
  extra: JSON
  oldNumber: String @deprecated(reason: "Nobody knows it.")
  createdAt: DateTime! @createdAt
  hall: Hall
  maker: Person
  keeper: Person
}

"A country, by its code."
type Country @resource(plural: "countries") { code: ID! @key name: String! }
"Written by machines, read by people."
type AuditEntry @resource(only: [LIST, GET]) { id: ID! text: String! }
"Only through GraphQL."
type Whisper @resource(rest: false) { id: ID! text: String! }
"Only through REST."
type Ledger @resource(graphql: false) { id: ID! amount: Float! }
"Only to be created."
type Feedback @resource(only: [CREATE]) { id: ID! text: String! }
type Nothing @resource(plural: "nothings") { id: ID! note: String }
type OrganisationForStandardisationDocumentReference @resource {
  id: ID!
  short: Int
  nameOfTheCommitteeThatIsResponsibleForTheDocument: Int
  text: String
}
`;

const key = (at: number) => `0190f5a0-7c1e-7a64-b3f5-${String(at).padStart(12, '0')}`;
const stages = ['PLANNED', 'ACTIVE', 'DONE'];

export const museum = {
  sdl,
  data: {
    museums: [
      { id: 1, name: 'Museum of Things', opened: '1901-05-01' },
      { id: 2, name: 'House of Numbers' },
    ],
    halls: [
      { id: 1, name: 'Hall A', museumId: 1 },
      { id: 2, name: 'Hall B', floor: 2, museumId: 2 },
    ],
    people: [
      { id: key(1), name: 'Barbara Liskov', email: 'b@example.com', retired: true },
      { id: key(2), name: 'Tony Hoare', mentorId: key(1) },
    ],
    exhibits: Array.from({ length: 60 }, (_, at) => ({
      id: at + 1,
      title: at === 0 ? '<img src=x onerror=alert(1)>' : `Exhibit ${at + 1}`,
      label: at === 1 ? 'A long text. '.repeat(200) : null,
      stage: stages[at % 3],
      tags: at % 2 === 0 ? ['old', 'bronze, mostly'] : [],
      weight: at * 1.5,
      acquired: '1990-01-02',
      inspectedAt: '2025-03-04T05:06:07.008Z',
      extra: { deep: [1, { two: null }] },
      hallId: 1 + (at % 2),
      makerId: key(1),
      keeperId: at % 2 === 0 ? key(2) : null,
    })),
    countries: [{ code: 'CH', name: 'Switzerland' }],
    auditEntries: [{ id: 1, text: 'The door was opened.' }],
    whispers: [{ id: 1, text: 'psst' }],
    ledgers: [{ id: 1, amount: 12.5 }],
    organisationForStandardisationDocumentReferences: [
      { id: 1, short: 1, text: 'مرحبا بالعالم '.repeat(30) },
    ],
  },
};
