/**
 * What one side of a sync conversation has yet to say, in order of urgency: short messages; batches
 * of entries and bodies, as many as the peer has room for; what is new in which thread; questions,
 * a few at a time; and chunks of artifacts. A batch that waits for room keeps nothing else back: the peer's own
 * batches wait for our word that one of them was taken in.
 */
import { encodeSync, type Hex, type SyncMessage } from '../../protocol/index.ts'
import type { FrameStream } from '../net/net.ts'
import type { Asking } from './asking.ts'

/** Batches that may be under way to a peer that has not said it took them in. */
const CREDIT_COUNT = 4
/** How many of these may be chunks of artifacts: whatever else there is to say goes between them. */
const CHUNKS_CREDIT_COUNT = 2
/** Questions that may wait for their answer; a question is a thread whose rest is asked for. */
const ASKED_COUNT_MAX = 32
/** Questions that are kept for later. A peer may name any number of threads. */
const TO_ASK_COUNT_MAX = 8192
/** Answers that a peer may ask for, and short messages that it may cause, before it reads any. */
const ANSWERS_COUNT_MAX = 256
const SHORT_COUNT_MAX = 4096

export interface Outbound {
  /** Says something short, as soon as possible and in order. */
  say(message: SyncMessage): void
  /** Gives batches as the peer takes them. One under the same name that has not begun is replaced. */
  answer(name: string, batches: () => AsyncIterable<SyncMessage>): void
  /** Gives chunks of artifacts, when nothing else can be said. */
  give(chunks: () => AsyncIterable<SyncMessage>): void
  /** Says what the newest entries of a thread are; only the last word on each thread is said. */
  tell(thread: Hex, heads: Hex[]): void
  /**
   * Asks for the rest of a thread, by the message that `question` makes when its turn comes, unless
   * `isNeeded` says then that it is here already.
   */
  ask(thread: Hex, isNeeded?: () => boolean): void
  /** Calls `tell` when it is this peer's turn to catch us up. */
  catchUp(tell: () => void): void
  /** The peer has named what differs, and it was asked for: its turn ends when that is here. */
  named(): void
  /** Nothing differs: the peer's turn ends. */
  caughtUp(): void
  /** The peer has given all it has of a thread. */
  answered(thread: Hex): void
  /** The peer took one batch in. */
  taken(): void
  /** Says these and nothing else any more, whatever waited; then {@link run} is over. */
  finish(last: readonly SyncMessage[]): void
  /** Sends until {@link end} or {@link finish}; rejects where the stream fails. */
  run(): Promise<void>
  end(): void
}

export interface OutboundParts {
  readonly stream: FrameStream
  /** What is asked about a thread. */
  question(thread: Hex): Promise<SyncMessage>
  /** What other conversations ask. `wake` is to be called when one of them has its answer. */
  asking: Asking
  /** All questions are answered, and some that were too many at once were let go. */
  onForgotten(): void
}

export function createOutbound({ stream, question, asking, onForgotten }: OutboundParts): Outbound {
  const short: SyncMessage[] = []
  const answers = new Map<string, () => AsyncIterable<SyncMessage>>()
  const news = new Map<Hex, Hex[]>()
  const toAsk = new Map<Hex, () => boolean>()
  const asked = new Set<Hex>()
  let forgotten = false
  let named = false
  let current: AsyncIterator<SyncMessage> | undefined
  const gifts: AsyncIterator<SyncMessage>[] = []
  /** Batches that the peer has not taken in, in their order. */
  const underWay: ('batch' | 'chunk')[] = []
  let wake = () => {}
  let ended = false
  let finishing = false
  const asker = asking.join(() => wake())

  async function nextBatch(): Promise<SyncMessage | undefined> {
    while (underWay.length < CREDIT_COUNT) {
      const waiting = answers.entries().next().value
      if (!current && !waiting) return undefined
      if (!current && waiting) {
        answers.delete(waiting[0])
        current = waiting[1]()[Symbol.asyncIterator]()
      }
      const batch = await current?.next()
      if (batch && batch.done !== true) {
        underWay.push('batch')
        return batch.value
      }
      current = undefined
    }
    return undefined
  }

  async function nextChunk(): Promise<SyncMessage | undefined> {
    const isFull = () => underWay.length >= CREDIT_COUNT || count(underWay, 'chunk') >= CHUNKS_CREDIT_COUNT
    for (let [giving] = gifts; giving && !isFull(); [giving] = gifts) {
      const chunk = await giving.next()
      if (chunk.done === true) gifts.shift()
      else {
        underWay.push('chunk')
        return chunk.value
      }
    }
    return undefined
  }

  async function nextQuestion(): Promise<SyncMessage | undefined> {
    if (asked.size >= ASKED_COUNT_MAX) return undefined
    for (const [thread, isNeeded] of toAsk) {
      // What is asked already is asked again when its answer is here, since something newer may have come.
      if (asked.has(thread)) continue
      if (!isNeeded()) toAsk.delete(thread)
      else if (asker.claim(thread)) {
        toAsk.delete(thread)
        asked.add(thread)
        return question(thread)
      }
    }
    if (toAsk.size > 0 || asked.size > 0) return undefined
    // All that the peer named is here, or was asked for in vain.
    if (forgotten) {
      forgotten = false
      onForgotten()
    } else if (named) caughtUp()
    return undefined
  }

  function caughtUp(): void {
    named = false
    asker.caughtUp()
  }

  function nextNews(): SyncMessage | undefined {
    const next = news.entries().next().value
    if (!next) return undefined
    news.delete(next[0])
    return { t: 'heads', th: next[0], heads: next[1] }
  }

  function queue(change: () => void): void {
    if (finishing) return
    change()
    if (short.length > SHORT_COUNT_MAX || answers.size + gifts.length > ANSWERS_COUNT_MAX)
      stream.abort('asks for more than it takes')
    wake()
  }

  return {
    say: (message) => queue(() => short.push(message)),
    answer: (name, batches) => queue(() => answers.set(name, batches)),
    give: (chunks) => queue(() => gifts.push(chunks()[Symbol.asyncIterator]())),
    tell: (thread, heads) => queue(() => news.set(thread, heads)),
    ask: (thread, isNeeded = () => true) =>
      queue(() => {
        if (toAsk.has(thread) || toAsk.size < TO_ASK_COUNT_MAX) toAsk.set(thread, isNeeded)
        else forgotten = true
      }),
    answered: (thread) =>
      queue(() => {
        asked.delete(thread)
        asker.release(thread)
      }),
    catchUp: (tell) => asker.catchUp(tell),
    named: () => queue(() => (named = true)),
    caughtUp,
    taken: () => queue(() => underWay.shift()),
    finish(last) {
      queue(() => short.splice(0, short.length, ...last))
      finishing = true
    },
    async run() {
      while (!ended) {
        const woken = new Promise<void>((resolve) => (wake = resolve))
        const wasFinishing = finishing
        let message = short.shift()
        if (!message && wasFinishing) return
        message ??= (await nextBatch()) ?? nextNews() ?? (await nextQuestion()) ?? (await nextChunk())
        // What was looked up meanwhile is for nobody any more.
        if (finishing && !wasFinishing) continue
        if (message) await stream.send(encodeSync(message))
        else await woken
      }
    },
    end() {
      ended = true
      asker.leave()
      wake()
    },
  }
}

function count<T>(items: readonly T[], wanted: T): number {
  return items.filter((item) => item === wanted).length
}
