/** What the export of a handoff takes and gives; types alone. */
import type { AfterRemoval } from './calls.ts'

export interface ExportParams {
  thread_id: string
  cursor?: string | undefined
  after_removal?: AfterRemoval
}
/** A piece of the proof of a handoff. Bytes are base64 (RFC 4648, section 4). */
export interface ExportPage {
  thread_id: string
  /** Hex; shows which action the handoff proposes. Absent where it proposes none, or its key is not here. */
  action_key?: string
  /** As received, parents before children. body: sealed, where it is here; key: opens this body and no other. */
  entries: { envelope: string; body?: string; key?: string }[]
  /** The roster entries that the thread's entries rest on, from genesis on; after all entries. */
  roster: string[]
  next_cursor?: string
}
