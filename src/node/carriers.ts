/** Who keeps what this side said for the other side: facts that were observed, each once. */
import { CARRIERS_COUNT_MAX, type Hex } from '../../protocol/index.ts'
import type { Held, Turn } from './held.ts'
import { putCarrier } from './rows.ts'
import type { CarrierFact, Thread } from './threads.ts'
import { deviceLabel, memberOfDevice, ownMember } from './workspace.ts'

/** A teammate's laptop says that it keeps the bodies of these entries. Only what this member said is of interest. */
export function noteCarrier(held: Held, turn: Turn, thread: Thread, said: { ids: readonly Hex[]; device: Hex }): void {
  const me = ownMember(held.workspace)?.id
  for (const id of said.ids) {
    const author = thread.graph.byId.get(id)?.entry.header.dev
    if (author === undefined || me === undefined || memberOfDevice(held.workspace, author)?.id !== me) continue
    note(held, turn, thread, { entry: id, where: said.device, host: null })
  }
}

/** The mailbox of `device` at a bootstrap server took an entry. */
export function noteMailbox(
  held: Held,
  turn: Turn,
  thread: Thread,
  taken: { entry: Hex; server: Hex; device: Hex; host: string },
): void {
  const { entry, server, device, host } = taken
  note(held, turn, thread, { entry, where: mailboxPlace(server, device), host })
}

export function mailboxPlace(server: Hex, device: Hex): string {
  return `${server}.${device}`
}

interface Observed {
  entry: Hex
  where: string
  host: string | null
}

function note(held: Held, turn: Turn, thread: Thread, { entry, where, host }: Observed): void {
  const known = thread.carriers.get(entry) ?? new Map<string, CarrierFact>()
  // A mailbox lets go after a while and may then be used again; a laptop says once that it has it.
  if (host === null && (known.has(where) || known.size >= CARRIERS_COUNT_MAX)) return
  const fact = { at: held.system.clock.now(), host }
  turn.touched.add(thread)
  thread.carriers.set(entry, known.set(where, fact))
  turn.writes.push(putCarrier(thread.id, entry, { where, ...fact }))
}

/** Where an entry lies beside this laptop, in words, earliest first: `carol/carols-mbp`, `mailbox at relay.example:4001`. */
export function carriersOf(held: Held, thread: Thread, entry: Hex): { name: string; at: number }[] {
  const first = new Map<string, number>()
  for (const [where, { at, host }] of thread.carriers.get(entry) ?? []) {
    const name = host === null ? deviceLabel(held.workspace, where) : `mailbox at ${host}`
    first.set(name, Math.min(at, first.get(name) ?? at))
  }
  return [...first].map(([name, at]) => ({ name, at })).toSorted((a, b) => a.at - b.at)
}
