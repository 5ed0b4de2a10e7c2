/**
 * Checks an export: judges its proof by the rules of the protocol, makes the whole folder from it anew, and compares file
 * by file. Needs nothing but the protocol.
 */
import {
  contentHash,
  deviceLabelIn,
  handleIn,
  threadDevices,
  type Hex,
  peerIdText,
  sameBytes,
  sideIn,
  type Side,
  stateDigest,
  textId,
  wholeSet,
} from '../../protocol/index.ts'
import { artifactFiles } from './artifact-files.ts'
import { exportFolder, FORMAT, MANIFEST_PATH, type Missing } from './folder.ts'
import { type Fault, judge, type Judged } from './judge.ts'
import { parseRoster, parseThread, ROSTER_PATH, THREAD_PATH } from './proof.ts'

export interface Report {
  /** Everything in the folder is what its proof says. */
  ok: boolean
  faults: Fault[]
  missing: Missing[]
  /** Not there where the proof cannot be judged. */
  thread?: ThreadReport
  /** What no export can show, whoever made it. */
  not_proven: string[]
}

export interface ThreadReport {
  thread_id: string
  workspace: string
  /** Id of the roster's first entry, hex. */
  workspace_id: Hex
  owner: DeviceReport
  roster_position: number
  from: string
  to: string
  status: string
  final: boolean
  waiting_for: string[]
  state_digest: Hex
  entries: number
  /** Entries that nothing in the export builds on. */
  heads: string[]
  late: string[]
  void: string[]
  cut: string[]
  /** Devices that signed two entries with one number. */
  forked: string[]
  conflicting: boolean
  repudiated: boolean
  /** bound: the proposed action is the one that the sender signed for. */
  action?: 'bound' | 'mismatch' | 'unknown'
  devices: DeviceReport[]
}

export interface DeviceReport {
  /** `member/device` */
  device: string
  /** To compare with what `relay-node status --json` or the laptop itself says. */
  peer_id: string
  side?: Side
  /** How many entries of it are here. */
  entries: number
}

/** `files`: everything that lies in the folder, by path with /. */
export function verifyExport(files: ReadonlyMap<string, Uint8Array>): Report {
  const faults: Fault[] = []
  const roster = read(files, ROSTER_PATH, parseRoster, faults)
  const thread = read(files, THREAD_PATH, parseThread, faults)
  if (!roster || !thread) return { ok: false, faults, missing: [], not_proven: NOT_PROVEN }
  const { judged, faults: found } = judge({ ...thread, roster })
  faults.push(...found)
  if (!judged) return { ok: false, faults, missing: [], not_proven: NOT_PROVEN }
  const format = formatOf(files.get(MANIFEST_PATH))
  if (format !== undefined && format !== FORMAT)
    faults.push({ path: MANIFEST_PATH, what: `its format is another one than ${FORMAT}, which this program checks` })
  const { files: expected, missing } = exportFolder(judged, contentsIn(judged, files, faults))
  for (const path of new Set([...expected.keys(), ...files.keys()].toSorted())) {
    const [given, made] = [files.get(path), expected.get(path)]
    if (!given) faults.push({ path, what: 'it is missing' })
    else if (!made) faults.push({ path, what: 'it is no part of the export' })
    else if (!sameBytes(given, made)) faults.push({ path, what: 'it is not what the proof says' })
  }
  return {
    ok: faults.length === 0,
    faults,
    missing: [...missing],
    thread: threadReport(judged),
    not_proven: NOT_PROVEN,
  }
}

function formatOf(manifest: Uint8Array | undefined): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(manifest))
    return typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined
  } catch {
    return undefined
  }
}

function read<T>(
  files: ReadonlyMap<string, Uint8Array>,
  path: string,
  parse: (bytes: Uint8Array) => T | undefined,
  faults: Fault[],
): T | undefined {
  const bytes = files.get(path)
  const value = bytes && parse(bytes)
  if (!bytes) faults.push({ path, what: 'it is missing' })
  else if (!value) faults.push({ path, what: 'it is not of its form' })
  return value
}

/** Contents that lie in chunks are no part of the proof; the signed body says their size and hash. */
function contentsIn(judged: Judged, files: ReadonlyMap<string, Uint8Array>, faults: Fault[]): Map<Hex, Uint8Array> {
  const contents = new Map<Hex, Uint8Array>()
  for (const { id, path, described } of artifactFiles(judged)) {
    const content = files.get(path)
    if (!described || !content) continue
    contents.set(id, content)
    if (content.length !== described.size || contentHash(content) !== described.sha256)
      faults.push({ path, what: 'it is not the content that the signed entry names' })
  }
  return contents
}

function threadReport(judged: Judged): ThreadReport {
  const { graph, state, roster, action } = judged
  const create = graph.byKind.create[0]?.entry
  const entryIds = (ids: Iterable<Hex>): string[] => [...ids].toSorted().map((id) => textId('entry', id))
  const device = (key: Hex): DeviceReport => {
    const side = sideIn(graph, wholeSet(graph), key)
    return {
      device: deviceLabelIn(roster, key),
      peer_id: peerIdText(key),
      ...(side ? { side } : {}),
      entries: graph.byDevice.get(key)?.length ?? 0,
    }
  }
  return {
    thread_id: textId('thread', create?.id ?? ''),
    workspace: roster.name,
    workspace_id: roster.ws,
    owner: device(roster.owner),
    roster_position: roster.point[0],
    from: handleIn(roster, roster.devices.get(create?.header.dev ?? '')?.member),
    to: handleIn(roster, create?.header.ctl.to),
    status: state.status,
    final: state.final,
    waiting_for: state.waitingFor.map((key) => deviceLabelIn(roster, key)),
    state_digest: stateDigest(graph, state),
    entries: graph.nodes.length,
    heads: entryIds(graph.heads),
    late: entryIds(state.late),
    void: entryIds(state.void),
    cut: entryIds(state.cut),
    forked: [...state.forked].map((key) => deviceLabelIn(roster, key)),
    conflicting: state.conflicting,
    repudiated: state.repudiated,
    ...(action ? { action: action.mismatch ? 'mismatch' : action.proposed ? 'bound' : 'unknown' } : {}),
    devices: threadDevices(graph).map(device),
  }
}

const NOT_PROVEN = [
  'that nothing newer exists, or was left out at the end: compare the state digest with another laptop of the handoff',
  'that the workspace is yours and its devices belong to the people you know: compare its id and the PeerIds',
  'when something was said: times are the claims of the clocks of its authors',
  'that what was said is true',
]
