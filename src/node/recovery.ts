/**
 * After a part of the store was lost: by a repair, or because an old copy of it was put back. Own
 * entries may be missing then, and whoever writes on would sign a second entry with a number that it
 * has used. So nothing is written into a thread until a device that takes part in it, and holds what
 * was lost, has been in sync.
 */
import { encodeCanonical, type Hex } from '../../protocol/index.ts'
import { type Store, StoreError, type Write } from '../store/store.ts'
import { acknowledge } from './acknowledge.ts'
import { factsOf, type Held, type Turn } from './held.ts'
import type { Published } from './publish.ts'
import { decodeRow, putMet, putThreadRow, readThreadRows } from './rows.ts'
import { participantsOf, type Thread } from './threads.ts'
import { teamDevices } from './workspace.ts'

/** A number that is kept outside of the store, so that an old copy of the store is noticed. */
export interface StartMark {
  /** The number that was written last, or undefined where there is none. */
  read(): number | undefined
  /** Returns once it is kept. */
  write(starts: number): void
}

const STARTS_KEY = 'starts'

/**
 * Counts a start or an orderly stop, in the store and then in the mark, so that the store is never
 * behind unless it is an old copy. Then all of its threads have to recover; true is returned.
 */
export async function countStart(store: Store, mark: StartMark): Promise<boolean> {
  const value = await store.get('meta', STARTS_KEY)
  const inStore = value === undefined ? 0 : (decodeRow(value) as number)
  const outside = mark.read() ?? 0
  const isOld = inStore < outside
  const starts = Math.max(inStore, outside) + 1
  const count: Write = { type: 'put', space: 'meta', key: STARTS_KEY, value: encodeCanonical(starts) }
  try {
    await store.batch([count, ...(isOld ? await recoverAll(store) : [])])
  } catch (error) {
    // With a disk that is full or cannot be written a node can still be read; it is not counted.
    if (isOld || !(error instanceof StoreError)) throw error
    return false
  }
  mark.write(starts)
  return isOld
}

async function recoverAll(store: Store): Promise<Write[]> {
  const writes = [putMet([])]
  for await (const [thread, row] of readThreadRows(store))
    writes.push(putThreadRow(thread, { ...row, recovering: true }))
  return writes
}

export function markRecovering(turn: Turn, thread: Thread, recovering: boolean): void {
  if (!thread.row) return
  thread.row = { ...thread.row, recovering }
  turn.touched.add(thread)
  turn.writes.push(putThreadRow(thread.id, thread.row))
}

/**
 * `device` holds exactly what is held here: the threads that it takes part in have recovered. Gives
 * them, and the receipts that were due.
 */
export async function recoveredWith(held: Held, device: Hex): Promise<{ acks: Published[]; threads: Hex[] }> {
  const { recovery } = held
  const recovering = [...held.facts].flatMap(([id, facts]) => (facts.recovering ? [id] : []))
  if (recovering.length === 0 && (recovery.met === undefined || recovery.met.has(device)))
    return { acks: [], threads: [] }
  return held.turn(async (turn) => {
    const acks: Published[] = []
    const threads: Hex[] = []
    for (const id of recovering) {
      const thread = await held.threads.load(id)
      if (!participantsOf(thread).includes(device)) continue
      markRecovering(turn, thread, false)
      threads.push(id)
      const ack = await acknowledge(held, turn, thread)
      if (ack) acks.push(ack)
      turn.after.push(() => thread.row && held.setFacts(id, factsOf(thread.row)))
    }
    if (recovery.met) {
      const met = new Set([...recovery.met, device])
      const hasMetAll = teamDevices(held.workspace).every((other) => met.has(other))
      turn.writes.push(putMet(hasMetAll ? undefined : [...met]))
      turn.after.push(() => (recovery.met = hasMetAll ? undefined : met))
    }
    return { acks, threads }
  })
}
