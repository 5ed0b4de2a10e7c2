/** Refusals by the limits that are rules (S10), counted over an entry's own past. */
import { hash } from '../../../protocol/index.ts'
import {
  DEVICE_TURNS_COUNT_MAX,
  DEVICE_WRAPS_COUNT_MAX,
  LACK_CHANGES_COUNT_MAX,
  PENDING_TURNS_COUNT_MAX,
} from '../../../protocol/index.ts'
import { acme, type Actor, begin, bob, frank, type Story } from '../../cast.ts'
import { refusalCase, type RefusalCase } from './refusal-case.ts'

const workspace = acme()

function repeat(story: Story, who: Actor, kind: 'message' | 'wrap', times: number) {
  for (let i = 0; i < times; i++) story.say(who, kind)
}

export const COUNT_CASES: readonly RefusalCase[] = [
  refusalCase('turns_exceeded', 'turn 401 of a device', (wrong) => {
    const story = begin({ workspace })
    story.say(frank, 'accept')
    repeat(story, frank, 'message', DEVICE_TURNS_COUNT_MAX - (wrong ? 0 : 1))
    return story.judge(story.draft(frank, 'message'))
  }),
  refusalCase('pending_turns_exceeded', 'turn 65 of a sender device before the accept', (wrong) => {
    const story = begin({ workspace })
    repeat(story, bob, 'message', PENDING_TURNS_COUNT_MAX)
    if (!wrong) story.say(frank, 'accept')
    return story.judge(story.draft(bob, 'message'))
  }),
  refusalCase('wraps_exceeded', 'wrap 33 of a device', (wrong) => {
    const story = begin({ workspace })
    repeat(story, frank, 'wrap', DEVICE_WRAPS_COUNT_MAX - (wrong ? 0 : 1))
    return story.judge(story.draft(frank, 'wrap'))
  }),
  refusalCase('fence_repeated', 'a second fence of one laptop by one laptop', (wrong) => {
    const changing = acme()
    const story = begin({ workspace: changing })
    changing.write('remove-device', { device: frank.device })
    if (wrong) story.say(bob, 'fence', { device: frank.device })
    return story.judge(story.draft(bob, 'fence', { device: frank.device }))
  }),
  refusalCase('ack_without_news', 'an ack of an ack', (wrong) => {
    const story = begin({ workspace })
    story.say(frank, 'ack')
    if (!wrong) story.say(bob, 'message')
    return story.judge(story.draft(frank, 'ack'))
  }),
  refusalCase('ack_without_news', 'two laptops that acknowledge each other', (wrong) => {
    const story = begin({ workspace })
    story.say(frank, wrong ? 'ack' : 'message')
    return story.judge(story.draft(bob, 'ack'))
  }),
  refusalCase('lack_not_in_past', 'lacks what it does not build on', (wrong) => {
    const story = begin({ workspace })
    return story.judge(story.draft(frank, 'ack', { lack: [wrong ? hash('payload', []) : story.create.id] }))
  }),
  refusalCase('lack_changes_exceeded', 'change 101 of lack without news', (wrong) => {
    const story = begin({ workspace })
    story.say(frank, 'ack')
    const lack = (i: number) => ({ lack: i % 2 === 0 ? [story.create.id] : [] })
    const changes = LACK_CHANGES_COUNT_MAX - (wrong ? 0 : 1)
    for (let i = 0; i < changes; i++) story.say(frank, 'ack', lack(i))
    return story.judge(story.draft(frank, 'ack', lack(changes)))
  }),
]
