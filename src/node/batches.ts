/** What is said in several messages, since one holds only so much. */
import type { SyncMessage } from '../../protocol/index.ts'

/** Bytes that one message carries, but for a single item that is larger. */
export const BATCH_SIZE_BYTES = 256 * 1024

export function inBatches<T>(items: readonly T[], size: (item: T) => number): T[][] {
  const batches: T[][] = []
  let room = 0
  for (const item of items) {
    const batch = batches.at(-1)
    const needed = size(item) + 8
    if (batch && room >= needed) batch.push(item)
    else {
      batches.push([item])
      room = BATCH_SIZE_BYTES
    }
    room -= needed
  }
  return batches
}

export function rosterMessages(envelopes: readonly Uint8Array[]): SyncMessage[] {
  return inBatches(envelopes, (envelope) => envelope.length).map((entries) => ({ t: 'roster', entries }))
}
