/** Histories: what arrives of a thread, told by the cast, with the end that it has to have in words of its own. */
import {
  type CtlOf,
  type Entry,
  type Hex,
  type Kind,
  memberByName,
  type Refusal,
  type Status,
} from '../../protocol/index.ts'
import {
  type Actor,
  begin,
  type BeginOptions,
  bob,
  foundWorkspace,
  frank,
  type SayOptions,
  type Story,
  type Workspace,
} from '../cast.ts'
import { type Arrival, receive, tellBodies, tellThread, tellWraps } from './vector-delivery.ts'
import { rosterOf } from './vector-exhibits.ts'
import { type Fields, type Json, type Vector, writeHex } from './vector-form.ts'

/** The state at the end. What is left out is as in a thread in which nothing special happened. */
export interface Ending {
  /** null: there is no thread. */
  readonly status: Status | null
  readonly final?: boolean
  readonly waitingFor?: readonly Actor[]
  readonly accept?: Entry
  readonly complete?: Entry
  readonly conflicting?: boolean
  readonly repudiated?: boolean
  readonly void?: readonly Entry[]
  readonly cut?: readonly Entry[]
  readonly late?: readonly Entry[]
  readonly forked?: readonly Actor[]
  /** Entries that still wait for what they build on. */
  readonly waiting?: readonly Entry[]
  /** The sequence numbers of these entries. */
  readonly numbers?: readonly (readonly [Entry, number])[]
  readonly recordHeads?: readonly Entry[]
  readonly verdict?: 'approved' | 'rejected'
  readonly bodies?: readonly (readonly [Entry, string])[]
  readonly wraps?: readonly (readonly [Actor, string])[]
}

export interface HistoryCase {
  readonly name: string
  /** A sentence. */
  readonly title: string
  /** The rows, attacks and subjects that it shows. */
  readonly shows: readonly string[]
  readonly tell: () => Told | Promise<Told>
}

/** What happened, in the order in which it arrived somewhere. */
export interface Told {
  readonly workspace: Workspace
  readonly thread: Hex
  readonly arrivals: readonly (Arrival & { readonly entry: Entry; readonly refusal: Refusal | undefined })[]
  readonly keys: ReadonlyMap<Hex, Uint8Array>
  readonly seeds: readonly Actor[]
  readonly ending: Ending
}

export interface History extends Story {
  /** Something arrives that this thread does not take in: it is refused, or it waits, or it is of another thread. */
  arrive(entry: Entry, refusal?: Refusal): Entry
  /** draft, and arrive as refused. */
  lie<K extends Kind>(who: Actor, kind: K, refusal: Refusal, stated?: { ctl?: Partial<CtlOf<K>> } & SayOptions): Entry
  /** An entry with its sealed body, which the rules take in. */
  bring(entry: Entry, body: Uint8Array): Entry
  /** A key of the thread, by the create or wrap that introduced it: to open bodies with. */
  readonly keys: Map<Hex, Uint8Array>
  /** Devices whose wraps are looked into. */
  readonly seeds: Actor[]
  ends(ending: Ending): Told
  /** The same, arrived in another order. */
  endsInOrder(order: (arrived: readonly Entry[]) => readonly Entry[], ending: Ending): Told
}

/** acme with these laptops in it, and bob's: no more than a history needs, so that its file is short. */
export function team(laptops: readonly Actor[]): Workspace {
  const workspace = foundWorkspace(bob, 'acme')
  for (const laptop of new Set(laptops)) {
    if (laptop === bob) continue
    const name = laptop.name.replace(/\d+$/, '')
    const member = memberByName(workspace.roster(), name)
    if (member) workspace.enrolDevice(member.id, laptop)
    else workspace.enrol(name, [laptop])
  }
  return workspace
}

/** A thread of which everything that is said arrives in the order in which it is said. */
export function history(options: BeginOptions = {}, others: readonly Actor[] = []): History {
  const { senders = [bob], recipients = [frank] } = options
  return record(begin({ workspace: team([...senders, ...recipients, ...others]), ...options }))
}

export function record(story: Story): History {
  const arrived: Told['arrivals'][number][] = []
  const put = (entry: Entry, body: Uint8Array | null = null, refusal?: Refusal) => {
    arrived.push({ entry, envelope: entry.envelope, body, refusal })
    return entry
  }
  for (const entry of story.entries()) put(entry)
  const keys = new Map<Hex, Uint8Array>()
  const seeds: Actor[] = []
  const told = (arrivals: Told['arrivals'], ending: Ending): Told => ({
    workspace: story.workspace,
    thread: story.create.id,
    arrivals,
    keys,
    seeds,
    ending,
  })
  return {
    ...story,
    keys,
    seeds,
    say: (who, kind, ctl, options) => put(story.say(who, kind, ctl, options)),
    add: (entry) => put(story.add(entry)),
    bring: (entry, body) => put(story.add(entry), body),
    arrive: (entry, refusal) => put(entry, null, refusal),
    lie: (who, kind, refusal, { ctl = {}, ...options } = {}) =>
      put(story.draft(who, kind, ctl, options), null, refusal),
    ends: (ending) => told(arrived, ending),
    endsInOrder(order, ending) {
      const entries = order(arrived.map(({ entry }) => entry))
      return told(
        entries.flatMap((entry) => arrived.find((one) => one.entry === entry) ?? []),
        ending,
      )
    },
  }
}

function ids(entries: readonly Entry[] = []): Hex[] {
  return entries.map(({ id }) => id).toSorted()
}

function devices(actors: readonly Actor[] = []): Hex[] {
  return actors.map(({ device }) => device).toSorted()
}

/** What the teller says of the end, in the form of a vector. */
export function literal({ ending, arrivals }: Told): Fields {
  const at = (entry: Entry) => arrivals.findIndex((one) => one.entry === entry)
  const { status } = ending
  const refused = arrivals.flatMap(({ refusal }, position) => (refusal ? [[position, refusal]] : []))
  const waiting = (ending.waiting ?? []).map(at).toSorted((a, b) => a - b)
  if (status === null) return { status, refused, waiting }
  return {
    status,
    final: ending.final ?? false,
    waiting_for: devices(ending.waitingFor),
    lead: { accept: ending.accept?.id ?? null, complete: ending.complete?.id ?? null },
    conflicting: ending.conflicting ?? false,
    repudiated: ending.repudiated ?? false,
    void: ids(ending.void),
    cut: ids(ending.cut),
    late: ids(ending.late),
    forked: devices(ending.forked),
    verdict: ending.verdict ?? null,
    ...(ending.recordHeads ? { record_heads: ids(ending.recordHeads) } : {}),
    ...(ending.bodies ? { bodies: ending.bodies.map(([entry, what]): Json => [at(entry), what]) } : {}),
    ...(ending.wraps ? { wraps: ending.wraps.map(([actor, what]): Json => [actor.device, what]) } : {}),
    refused,
    waiting,
  }
}

/** The vector of a history; its expected side is what the rules make of it. */
export async function historyVector(one: HistoryCase): Promise<Vector & { readonly shows: readonly string[] }> {
  const told = await one.tell()
  const { workspace, thread, arrivals, keys, seeds } = told
  const received = receive(arrivals, workspace.log)
  const prekeys = seeds.map(({ device, prekeySeed }) => [device, prekeySeed] as const)
  return {
    area: 'thread',
    title: one.title,
    shows: one.shows,
    check: 'history',
    context: {
      roster: rosterOf(workspace.log),
      ...(keys.size > 0 ? { keys: Object.fromEntries([...keys].map(([id, key]) => [id, writeHex(key)])) } : {}),
      ...(seeds.length > 0
        ? { prekey_seeds: Object.fromEntries(prekeys.map(([device, seed]) => [device, writeHex(seed)])) }
        : {}),
    },
    input: {
      thread,
      entries: arrivals.map(({ envelope }) => writeHex(envelope)),
      ...(keys.size > 0 ? { bodies: arrivals.map(({ body }) => (body ? writeHex(body) : null)) } : {}),
    },
    expected: {
      ...tellThread(received, thread),
      ...(keys.size > 0 ? { bodies: tellBodies(received, arrivals, keys) } : {}),
      ...(seeds.length > 0 ? { wraps: await tellWraps(received.graphs.get(thread), prekeys) } : {}),
    },
  }
}
