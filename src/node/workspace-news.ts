/** What is said of the workspace: taking in what a peer or a mailbox says, roster entries and prekeys, in the write queue; and what this node says. */
import { FRAME_SIZE_BYTES_MAX, PROTOCOL_VERSION, type SyncMessage } from '../../protocol/index.ts'
import { countRefusal, type Held } from './held.ts'
import { dropOwedToRemoved } from './settle.ts'
import { admitPrekey, admitRoster, heldPrekeysDigest, rosterOf, rosterUndo } from './workspace.ts'

/** True: something was new. */
export function takeRoster(held: Held, entries: readonly Uint8Array[]): Promise<boolean> {
  return held.turn(async (turn) => {
    turn.undo.push(rosterUndo(held.workspace))
    const admitted = await admitRoster(held.workspace, entries)
    for (const { refusal } of admitted.refused) countRefusal(held, refusal)
    turn.writes.push(...admitted.writes)
    if (admitted.writes.length > 0) dropOwedToRemoved(held, turn)
    return admitted.writes.length > 0
  })
}

/** True: something was new. */
export function takePrekeys(held: Held, records: readonly Uint8Array[]): Promise<boolean> {
  return held.turn(async (turn) => {
    turn.undo.push(rosterUndo(held.workspace))
    for (const record of records) {
      const admitted = admitPrekey(held.workspace, record)
      if (admitted.ok) turn.writes.push(...admitted.value)
      else countRefusal(held, admitted.refusal)
    }
    return turn.writes.length > 0
  })
}

/** What this node says of the roster and the prekeys that it holds; nothing where it is in no workspace. */
export function helloOf({ workspace, system }: Held): SyncMessage | undefined {
  const roster = rosterOf(workspace)
  if (!roster) return undefined
  return {
    t: 'hello',
    v: PROTOCOL_VERSION,
    ws: roster.ws,
    ros: roster.point,
    prekeys: heldPrekeysDigest(workspace),
    frame: FRAME_SIZE_BYTES_MAX,
    clock: system.clock.now(),
  }
}
