/**
 * Who is asked about what, over all conversations: what many peers hold is asked of one of them.
 * Without it a laptop that comes back to a team of fifty would be sent everything forty-nine times.
 */
import type { Hex } from '../../protocol/index.ts'
import type { Clock } from '../system.ts'

/** A peer that has not answered in this time is no reason to wait for it: another is asked too. */
const ANSWER_MS = 10_000
/** Peers that are told at the same time what is held here, so that they name what differs. */
const CATCHING_UP_COUNT_MAX = 3

export interface Asking {
  /** Another conversation. `wake` is called when a thread that it could not claim may be free. */
  join(wake: () => void): Asker
}

export interface Asker {
  /** True once this conversation may ask about the thread: no other is waiting for an answer on it. */
  claim(thread: Hex): boolean
  /** The answer is here. */
  release(thread: Hex): void
  /** Calls `tell` as soon as few enough peers are catching this node up. Called again meanwhile, it tells once. */
  catchUp(tell: () => void): void
  /** Nothing is left to ask. */
  caughtUp(): void
  /** The conversation is over. */
  leave(): void
}

interface Member {
  wake(): void
  claims: Map<Hex, () => void>
  /** Waits for its turn to be told. */
  tell: (() => void) | undefined
  endTurn: (() => void) | undefined
}

export function createAsking(clock: Clock): Asking {
  const claimed = new Map<Hex, Member>()
  const members = new Set<Member>()
  /** Those that found a thread claimed. */
  const waiting = new Set<Member>()
  let turns = 0

  function free(member: Member, thread: Hex): void {
    member.claims.get(thread)?.()
    member.claims.delete(thread)
    if (claimed.get(thread) !== member) return
    claimed.delete(thread)
    const woken = [...waiting]
    waiting.clear()
    for (const { wake } of woken) wake()
  }

  function endTurn(member: Member): void {
    if (member.endTurn === undefined) return
    member.endTurn()
    member.endTurn = undefined
    turns--
    nextTurn()
  }

  function nextTurn(): void {
    for (const member of members) {
      if (turns >= CATCHING_UP_COUNT_MAX) return
      const { tell } = member
      if (tell === undefined) continue
      member.tell = undefined
      turns++
      member.endTurn = clock.after(ANSWER_MS, () => endTurn(member))
      tell()
    }
  }

  return {
    join(wake) {
      const member: Member = { wake, claims: new Map(), tell: undefined, endTurn: undefined }
      members.add(member)
      return {
        claim(thread) {
          const holder = claimed.get(thread)
          if (holder !== undefined && holder !== member) {
            waiting.add(member)
            return false
          }
          claimed.set(thread, member)
          member.claims.get(thread)?.()
          member.claims.set(
            thread,
            clock.after(ANSWER_MS, () => free(member, thread)),
          )
          return true
        },
        release: (thread) => free(member, thread),
        catchUp(tell) {
          if (member.endTurn !== undefined) return tell()
          member.tell = tell
          nextTurn()
        },
        caughtUp: () => endTurn(member),
        leave() {
          members.delete(member)
          waiting.delete(member)
          member.tell = undefined
          for (const thread of member.claims.keys()) free(member, thread)
          endTurn(member)
        },
      }
    },
  }
}
