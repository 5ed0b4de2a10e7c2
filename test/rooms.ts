import { importsOf, type SourceFile } from './source.ts'

/** One row of the table of who may import whom. */
interface Room {
  /** Folder, or for what lies directly in src its name, from the root. */
  name: string
  /** Folders and files of ours that it may import, itself aside. */
  ours: string[]
  /** Packages and builtins; one that ends in a slash stands for all below it. */
  packages: string[]
  /** protocol lists each builtin that it may name; the others may name any. */
  anyBuiltin: boolean
}

const PROTOCOL = 'protocol/index.ts'
const SYSTEM = ['src/system.ts', 'src/home.ts', 'src/allowance.ts', 'src/ip-address.ts', 'src/visible.ts']
/** The interfaces, which their rooms' users share; each is a leaf that loads nothing. */
const STORE = 'src/store/store.ts'
const NET = 'src/net/net.ts'
const BOOTSTRAP_NET = 'src/net/bootstrap-net.ts'
const RPC_CLIENT = ['client', 'launch', 'socket', 'schema', 'shapes', 'uuid'].map((name) => `src/rpc/${name}.ts`)

/** protocol: a second implementation needs this folder alone, so it names nothing of ours and little else. */
const ROOMS: readonly Room[] = [
  {
    name: 'protocol',
    ours: [],
    packages: ['@ipld/dag-cbor', '@hpke/', '@noble/curves', '@scure/base', '@scure/bip39', 'node:crypto', 'zod'],
    anyBuiltin: false,
  },
  { name: 'src', ours: [PROTOCOL, 'src/'], packages: ['env-paths', 'pino', 'smol-toml', 'zod'], anyBuiltin: true },
  {
    name: 'src/store',
    ours: [PROTOCOL, ...SYSTEM],
    packages: ['level', 'memory-level', 'abstract-level', 'zod'],
    anyBuiltin: true,
  },
  {
    name: 'src/net',
    ours: [PROTOCOL, ...SYSTEM],
    packages: ['libp2p', '@libp2p/', '@chainsafe/', '@multiformats/', 'zod'],
    anyBuiltin: true,
  },
  {
    name: 'src/bootstrap',
    ours: [PROTOCOL, ...SYSTEM, STORE, NET, BOOTSTRAP_NET],
    packages: ['prom-client', 'zod'],
    anyBuiltin: true,
  },
  {
    name: 'src/node',
    ours: [PROTOCOL, ...SYSTEM, STORE, NET],
    packages: ['yjs', 'diff', 'minisearch', '@secretlint/', 'zod'],
    anyBuiltin: true,
  },
  { name: 'src/export', ours: [PROTOCOL, 'src/visible.ts', 'src/record/'], packages: [], anyBuiltin: false },
  { name: 'src/record', ours: [PROTOCOL, 'src/visible.ts'], packages: [], anyBuiltin: false },
  {
    name: 'src/rpc',
    ours: [PROTOCOL, ...SYSTEM, 'src/node/'],
    packages: ['hono', '@hono/node-server', 'zod'],
    anyBuiltin: true,
  },
  {
    name: 'src/mcp',
    ours: [PROTOCOL, ...SYSTEM, ...RPC_CLIENT, 'src/record/'],
    packages: ['@modelcontextprotocol/sdk', 'zod'],
    anyBuiltin: true,
  },
  {
    name: 'src/web',
    ours: [PROTOCOL, 'src/rpc/', 'src/node/'],
    packages: ['@hono/node-server', 'hono', 'zod'],
    anyBuiltin: true,
  },
  {
    name: 'src/cli',
    ours: [PROTOCOL, 'src/'],
    packages: ['commander', '@clack/prompts', 'uqr', 'pino', 'smol-toml', 'zod'],
    anyBuiltin: true,
  },
]

/** Rooms that hold files from the first day on. One that is empty means that a check looked in the wrong place. */
export const ROOMS_THAT_EXIST = [
  'protocol',
  'src/store',
  'src/net',
  'src/bootstrap',
  'src/node',
  'src/record',
  'src/export',
  'src/rpc',
  'src/mcp',
  'src/cli',
]

/** What only one file may name, and why. */
const SOLE_NAMERS: readonly [target: RegExp, files: string[], why: string][] = [
  [/^(node:crypto|@hpke\/.*|@noble\/.*)$/, ['protocol/crypto.ts'], 'protocol keeps every primitive in one file'],
  [/^minisearch/, ['src/node/search-index.ts'], 'only search-index.ts knows what terms are kept in'],
  [/^@secretlint\//, ['src/node/secrets.ts'], 'what these find is quoted in their messages'],
  [/^yjs$/, ['src/node/document.ts'], 'only document.ts knows that the text is a Yjs document'],
  [
    /^src\/(store\/level-store|net\/libp2p-net|net\/libp2p-bootstrap-net)\.ts$/,
    ['src/cli/start.ts', 'src/cli/bootstrap.ts'],
    'start.ts and bootstrap.ts alone make the real store and the real net',
  ],
]

export function roomOf(path: string): Room | undefined {
  const [top = '', second = '', ...below] = path.split('/')
  const name = top === 'src' && below.length > 0 ? `src/${second}` : top
  return ROOMS.find((room) => room.name === name)
}

/** Imports of `file` that its room may not have. */
export function importFaults(file: SourceFile): string[] {
  const room = roomOf(file.path)
  if (!room) return [`${file.path} lies in no room of the table`]
  return importsOf(file).flatMap(({ target }) => {
    const faults = mayImport(room, target) ? [] : [`${file.path} may not import ${target}`]
    return [...faults, ...soleNamerFaults(file.path, room, target)]
  })
}

function soleNamerFaults(path: string, room: Room, target: string): string[] {
  return SOLE_NAMERS.filter(([named, files]) => {
    const concerned = target !== 'node:crypto' || room.name === 'protocol'
    const withinItsRoom = target.startsWith(`${room.name}/`)
    return concerned && !withinItsRoom && named.test(target) && !files.includes(path)
  }).map(([, , why]) => `${path} may not import ${target}: ${why}`)
}

function mayImport(room: Room, target: string): boolean {
  if (isOurs(target)) {
    const inside = room.name !== 'src' && target.startsWith(`${room.name}/`)
    return inside || room.ours.some((ours) => (ours.endsWith('/') ? target.startsWith(ours) : target === ours))
  }
  if (target.startsWith('node:') && room.anyBuiltin) return true
  return room.packages.some((name) => target === name || target.startsWith(name.endsWith('/') ? name : `${name}/`))
}

function isOurs(target: string): boolean {
  return target.endsWith('.ts') || target.endsWith('.js')
    ? /^(protocol|src|test|examples|\.)/.test(target)
    : target.startsWith('.')
}

/** An example is what a user would write: it imports the package by its name. */
export function exampleFaults(file: SourceFile): string[] {
  return importsOf(file)
    .filter(({ target }) => isOurs(target) && !target.startsWith('examples/'))
    .map(({ target }) => `${file.path} imports ${target}; an example imports relay-node by its name`)
}

const HEAVY = /^(libp2p|level|abstract-level|memory-level|yjs|(@libp2p|@chainsafe|@multiformats)\/.*)$/
const LIGHT_LEAVES = new Set([STORE, NET, 'src/node/api.ts', 'src/node/api-error.ts'])

/**
 * What an agent's front end may not load: it is started for every session, has to answer at once and
 * needs neither network nor disk. Interfaces and error classes, which load nothing further, are fine.
 */
export function heavyLoads(entry: string, loaded: ReadonlySet<string>): string[] {
  return [...loaded]
    .filter((one) => HEAVY.test(one) || (/^src\/(net|node|store)\//.test(one) && !LIGHT_LEAVES.has(one)))
    .map((one) => `${entry} loads ${one}`)
}
