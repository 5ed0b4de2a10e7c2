/** How values are shown: a time, and what somebody said apart by whose words they are. */
import type { Hex } from '../../protocol/index.ts'
import { type Content, type Time, untrusted } from './api.ts'
import type { Held } from './held.ts'
import { boundMember, memberOfDevice } from './workspace.ts'

export function timeText(ms: number): Time {
  // A peer's clock may claim anything; beyond what a date can say it is shown as the end of time.
  return new Date(Math.min(Math.max(ms, 0), 8.64e15)).toISOString()
}

export function content<T>(mine: boolean, value: T): Content<T> {
  return mine ? { own: value } : { untrusted: untrusted(value) }
}

export function isMine(held: Held, device: Hex): boolean {
  return memberOfDevice(held.workspace, device)?.id === boundMember(held.workspace)?.id
}
