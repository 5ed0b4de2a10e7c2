/**
 * Handoffs that came too late: begun by a device that was removed in the roster held here, and not
 * stored before. Whoever has such a device can still sign them and say that they are old. They are
 * stored by the rules, and kept apart: shown nowhere, sent to nobody who has not got them,
 * not acknowledged. A person who knows better admits one. No verdict depends on it.
 */
import { type Entry, type Hex, textId } from '../../protocol/index.ts'
import { acknowledge } from './acknowledge.ts'
import { ApiError } from './api-error.ts'
import type { QuarantinedThread } from './api.ts'
import type { Held, Turn } from './held.ts'
import { matchId, partyOf, requireMember } from './membership.ts'
import type { Published } from './publish.ts'
import { dropQuarantine, putQuarantine } from './rows.ts'
import { settle } from './settle.ts'
import { content, isMine, timeText } from './shown.ts'
import type { Thread } from './threads.ts'
import { handleOf, isRemoved } from './workspace.ts'

/** Keeps the thread that this create begins apart, if its author was removed. */
export function quarantineIfRemoved(held: Held, turn: Turn, create: Entry): void {
  if (!isRemoved(held.workspace, create.header.dev)) return
  const at = held.system.clock.now()
  held.quarantined.set(create.id, at)
  turn.undo.push(() => held.quarantined.delete(create.id))
  turn.writes.push(putQuarantine(create.id, at))
}

export interface Quarantine {
  list(): Promise<{ items: QuarantinedThread[] }>
  /** From now on it is a handoff like any other. */
  admit(params: { thread_id: string }): Promise<QuarantinedThread>
}

export function createQuarantine(parts: {
  held: Held
  announce(said: Published): void
  /** A thread is there that was not shown before. */
  onAdmitted(thread: Hex): void
}): Quarantine {
  const { held, announce, onAdmitted } = parts

  function listing({ id, row }: Thread, at: number): QuarantinedThread {
    if (!row) throw new Error('a thread in quarantine has a row')
    const { preview } = row
    return {
      thread_id: textId('thread', id),
      intent: row.intent,
      from: partyOf(held, row.senderDevice),
      to: handleOf(held.workspace, row.recipient),
      status: row.status,
      received_at: timeText(at),
      ...(preview ? { preview: content(isMine(held, row.senderDevice), preview.text) } : {}),
    }
  }

  /** Makes its row anew, as if all of it came just now. */
  async function release(turn: Turn, thread: Thread, at: number): Promise<void> {
    held.quarantined.delete(thread.id)
    turn.undo.push(() => held.quarantined.set(thread.id, at))
    turn.writes.push(dropQuarantine(thread.id))
    const { nodes } = thread.graph
    const sealed = await held.store.getMany(
      'body',
      nodes.map(({ entry }) => entry.id),
    )
    turn.touched.add(thread)
    thread.row = undefined
    settle(
      held,
      turn,
      thread,
      nodes.map((node, i) => ({ node, sealed: sealed[i] })),
    )
  }

  return {
    async list() {
      requireMember(held)
      return held.turn(async () => {
        const items: QuarantinedThread[] = []
        for (const [id, at] of held.quarantined) items.push(listing(await held.threads.load(id), at))
        return { items }
      })
    },
    async admit(params) {
      requireMember(held)
      const { item, ack, id } = await held.turn(async (turn) => {
        const [found, ...others] = matchId('thread', params.thread_id, held.quarantined.keys())
        const at = found === undefined ? undefined : held.quarantined.get(found)
        if (found === undefined || at === undefined || others.length > 0) {
          throw new ApiError('thread_not_found', 'No handoff like this is in quarantine.', {
            hint: 'relay-node quarantine list shows those there are; copy the whole id.',
          })
        }
        const thread = await held.threads.load(found)
        const shown = listing(thread, at)
        await release(turn, thread, at)
        return { item: shown, ack: await acknowledge(held, turn, thread), id: found }
      })
      if (ack) announce(ack)
      onAdmitted(id)
      return item
    },
  }
}
