/**
 * Refusals by the limits that are rules (S10), counted over an entry's own past: the right one and
 * the wrong one stand in one story and differ in what their author knows of it.
 */
import {
  DEVICE_TURNS_COUNT_MAX,
  DEVICE_WRAPS_COUNT_MAX,
  type Entry,
  hash,
  LACK_CHANGES_COUNT_MAX,
  PENDING_TURNS_COUNT_MAX,
} from '../../../protocol/index.ts'
import { type Actor, begin, bob, frank, type Story } from '../../cast.ts'
import { judged } from '../vector-exhibits.ts'
import { team } from '../vector-history.ts'
import { refusalCase, type RefusalCase } from './refusal-case.ts'

const workspace = team([frank])

/** Says something again and again; gives the last entry but one, and the last. */
function repeat(story: Story, who: Actor, kind: 'message' | 'wrap', times: number): readonly [Entry, Entry] {
  const said = Array.from({ length: times }, () => story.say(who, kind))
  return [said.at(-2) ?? story.create, said.at(-1) ?? story.create]
}

export const COUNT_CASES: readonly RefusalCase[] = [
  refusalCase('turns_exceeded', 'turn 401 of a device', (wrong) => {
    const story = begin({ workspace })
    story.say(frank, 'accept')
    const [before, last] = repeat(story, frank, 'message', DEVICE_TURNS_COUNT_MAX)
    return judged(story, story.draft(frank, 'message', {}, { past: [wrong ? last : before] }))
  }),
  refusalCase('pending_turns_exceeded', 'turn 65 of a sender device before the accept', (wrong) => {
    const story = begin({ workspace })
    const [, last] = repeat(story, bob, 'message', PENDING_TURNS_COUNT_MAX)
    const accept = story.say(frank, 'accept')
    return judged(story, story.draft(bob, 'message', {}, { past: [last, ...(wrong ? [] : [accept])] }))
  }),
  refusalCase(
    'pending_turns_exceeded',
    'turn 65 before the accept of a sender device and not of a recipient device',
    (wrong) => {
      const story = begin({ workspace })
      const [, last] = repeat(story, bob, 'message', PENDING_TURNS_COUNT_MAX)
      const past = [story.create]
      for (let i = 0; i < PENDING_TURNS_COUNT_MAX; i++) past[0] = story.say(frank, 'message', {}, { past })
      return judged(story, story.draft(wrong ? bob : frank, 'message', {}, { past: wrong ? [last] : past }))
    },
  ),
  refusalCase('wraps_exceeded', 'wrap 33 of a device', (wrong) => {
    const story = begin({ workspace })
    const [before, last] = repeat(story, frank, 'wrap', DEVICE_WRAPS_COUNT_MAX)
    return judged(story, story.draft(frank, 'wrap', {}, { past: [wrong ? last : before] }))
  }),
  refusalCase('fence_repeated', 'a second fence of one laptop by one laptop', (wrong) => {
    const changing = team([frank])
    const story = begin({ workspace: changing })
    changing.write('remove-device', { device: frank.device })
    const fence = story.say(bob, 'fence', { device: frank.device })
    return judged(story, story.draft(bob, 'fence', { device: frank.device }, { past: [wrong ? fence : story.create] }))
  }),
  refusalCase('ack_without_news', 'an ack of an ack', (wrong) => {
    const story = begin({ workspace })
    const ack = story.say(frank, 'ack')
    const message = story.say(bob, 'message')
    return judged(story, story.draft(frank, 'ack', {}, { past: [wrong ? ack : message] }))
  }),
  refusalCase('ack_without_news', 'two laptops that acknowledge each other', (wrong) => {
    const story = begin({ workspace })
    story.say(frank, wrong ? 'ack' : 'message')
    return judged(story, story.draft(bob, 'ack'))
  }),
  refusalCase('lack_not_in_past', 'lacks what it does not build on', (wrong) => {
    const story = begin({ workspace })
    const message = story.say(bob, 'message')
    const past = [wrong ? story.create : message]
    return judged(story, story.draft(frank, 'ack', { lack: [message.id] }, { past }))
  }),
  refusalCase('lack_not_in_past', 'lacks what does not exist', (wrong) => {
    const story = begin({ workspace })
    return judged(story, story.draft(frank, 'ack', { lack: [wrong ? hash('payload', []) : story.create.id] }))
  }),
  refusalCase('lack_changes_exceeded', 'change 101 of lack without news', (wrong) => {
    const story = begin({ workspace })
    let [before, last] = [story.create, story.say(frank, 'ack')]
    const lack = (i: number) => ({ lack: i % 2 === 0 ? [story.create.id] : [] })
    for (let i = 0; i < LACK_CHANGES_COUNT_MAX; i++) [before, last] = [last, story.say(frank, 'ack', lack(i))]
    const changes = LACK_CHANGES_COUNT_MAX - (wrong ? 0 : 1)
    return judged(story, story.draft(frank, 'ack', lack(changes), { past: [wrong ? last : before] }))
  }),
]
