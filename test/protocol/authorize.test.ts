import { describe, expect, test } from 'vitest'
import {
  admitRosterEntry,
  authorize,
  devicesToCover,
  emptyGraph,
  emptyRosterLog,
  hash,
  recordHeads,
  signEntry,
  signRosterEntry,
} from '../../protocol/index.ts'
import { viewOf } from '../../protocol/effect.ts'
import { wholeSet } from '../../protocol/graph.ts'
import {
  acme,
  alice,
  begin,
  bob,
  bob2,
  carol,
  foundWorkspace,
  frank,
  frank2,
  mallory,
  mustAdmit,
  wrapFor,
} from '../cast.ts'
import { deliver } from './delivery.ts'

const workspace = acme()

describe('what is missing makes an entry wait and never refuses it', () => {
  test('a parent', () => {
    const story = begin({ workspace })
    const message = story.say(frank, 'message')
    const answer = story.draft(bob, 'message')
    const ground = { graph: emptyGraph(), log: workspace.log, isRefused: () => false }
    expect(authorize(ground, answer)).toEqual({
      ok: 'missing',
      entries: [story.create.id, message.id],
      roster: undefined,
    })
  })

  test('a roster entry', () => {
    const story = begin({ workspace })
    const ground = { graph: emptyGraph(), log: emptyRosterLog(), isRefused: () => false }
    expect(authorize(ground, story.create)).toEqual({ ok: 'missing', entries: [], roster: workspace.roster().point[1] })
  })

  test('a parent that was refused is not missing', () => {
    const story = begin({ workspace })
    const refused = story.draft(mallory, 'message')
    const below = story.draft(frank, 'message', {}, { header: { deps: [refused.id] } })
    const { refused: names } = deliver([story.create, refused, below], workspace.log)
    expect(names).toEqual(
      new Map([
        [refused.id, 'no_side'],
        [below.id, 'parent_refused'],
      ]),
    )
  })
})

describe('liars', () => {
  test('an accept that hides a cancel which its device had signed for is void', () => {
    const story = begin({ workspace })
    story.say(bob, 'cancel')
    story.say(frank, 'ack')
    const accept = story.say(frank, 'accept', {}, { past: [story.create] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true, void: new Set([accept.id]) })
  })

  test('a cancel that hides an accept which the sender had signed for changes nothing', () => {
    const story = begin({ workspace })
    story.say(frank, 'accept')
    story.say(bob, 'ack')
    story.say(bob, 'cancel', {}, { past: [story.create] })
    expect(story.state()).toMatchObject({ status: 'accepted', forked: new Set([bob.device]) })
  })

  test('an entry signed for another thread belongs to no other', () => {
    const story = begin({ workspace })
    const other = begin({ workspace, create: { nonce: hash('payload', ['other']) } })
    expect(other.judge(story.draft(frank, 'accept'))).toMatchObject({ ok: 'missing' })
    expect(other.judge(story.draft(frank, 'accept', {}, { header: { deps: [other.create.id] } }))).toMatchObject({
      refusal: 'missing_create',
    })
  })

  test('clocks decide nothing', () => {
    const story = begin({ workspace })
    story.say(bob, 'cancel', {}, { header: { ts: 0 } })
    story.say(frank, 'accept', {}, { past: [story.create], header: { ts: Number.MAX_SAFE_INTEGER } })
    expect(story.state().status).toBe('accepted')
  })

  test('a removed laptop that cites an old roster is stored, and cut by the fence', () => {
    const changing = acme()
    const story = begin({ workspace: changing })
    const before = changing.roster().point
    changing.write('remove-device', { device: frank.device })
    story.say(bob, 'fence', { device: frank.device })
    story.say(frank, 'accept', {}, { past: [story.create], header: { ros: before } })
    expect(story.state().status).toBe('pending')
  })

  test('a laptop is not added in silence: it has no side until a wrap of its past names it', () => {
    const story = begin({ workspace })
    const wrap = story.say(frank, 'wrap', { adds: frank2.device })
    expect(story.judge(story.draft(frank2, 'message', {}, { past: [story.create] }))).toMatchObject({
      refusal: 'no_side',
    })
    expect(story.judge(story.draft(frank2, 'message', {}, { past: [wrap] }))).toMatchObject({ ok: true })
  })

  test('two laptops of one side may add the same third one at once', () => {
    const changing = acme()
    changing.enrolDevice(changing.member('frank'), carol)
    const story = begin({ workspace: changing, recipients: [frank, frank2] })
    const one = story.say(frank, 'wrap', { adds: carol.device }, { past: [story.create] })
    const other = story.say(frank2, 'wrap', { adds: carol.device }, { past: [story.create] })
    const both = story.say(bob, 'ack', {}, { past: [one, other] })
    expect(story.judge(story.draft(carol, 'accept', {}, { past: [both] }))).toMatchObject({ ok: true })
  })

  test('a create in the name of a member by a laptop of another is refused', () => {
    const story = begin({ workspace })
    const { header } = story.create
    expect(
      authorize(
        { graph: emptyGraph(), log: workspace.log, isRefused: () => false },
        signEntry({ ...header, dev: mallory.device }, mallory.key),
      ),
    ).toMatchObject({
      refusal: 'author_not_listed',
    })
  })
})

describe('a roster that forked', () => {
  function forked() {
    const changing = acme()
    const point = changing.roster().point
    const left = changing.draft('set-bootstrap', { addresses: ['left'] })
    const right = changing.draft('set-bootstrap', { addresses: ['right'] })
    for (const entry of [left, right]) mustAdmit(changing.log, entry)
    const at = (entry: typeof left) => ({ ros: [point[0] + 1, entry.id] as [number, string] })
    return { changing, left: at(left), right: at(right) }
  }

  test('keeps the verdicts of entries on either branch, and no entry builds on both', () => {
    const { changing, left, right } = forked()
    const story = begin({ workspace: changing })
    const own = story.create.header.ros[1]
    const [same, other] = left.ros[1] === own ? [left, right] : [right, left]
    expect(story.judge(story.draft(frank, 'accept', {}, { header: same }))).toMatchObject({ ok: true })
    expect(story.judge(story.draft(frank, 'accept', {}, { header: other }))).toMatchObject({
      refusal: 'roster_went_back',
    })
  })

  test('of another workspace with the same keys means nothing here', () => {
    const elsewhere = foundWorkspace(bob, 'elsewhere')
    elsewhere.enrol('frank', [frank])
    const story = begin({ workspace: elsewhere })
    const log = acme().log
    expect(authorize({ graph: emptyGraph(), log, isRefused: () => false }, story.create)).toMatchObject({
      ok: 'missing',
    })
    expect(
      admitRosterEntry(log, signRosterEntry(elsewhere.draft('set-bootstrap', { addresses: [] }).header, bob.key)),
    ).toBeUndefined()
  })
})

test('a wrap has to cover readers and added laptops, and not those that a fence cut off', () => {
  const changing = acme()
  const story = begin({ workspace: changing, senders: [bob, bob2] })
  story.say(bob, 'share')
  const before = changing.roster().point
  changing.write('remove-device', { device: frank.device })
  story.say(bob, 'fence', { device: frank.device })
  const wraps = [bob, bob2, frank, frank2].map(({ device }) => wrapFor(device))
  story.say(frank, 'wrap', { adds: frank2.device, wraps }, { past: [story.create], header: { ros: before } })
  const cover = devicesToCover(viewOf(story.graph, wholeSet(story.graph)), null, changing.roster())
  expect(new Set(cover)).toEqual(new Set([bob.device, bob2.device, alice.device]))
})

test('a device that forks its revisions cannot keep others from revising: they settle sixteen heads at a time', () => {
  const story = begin()
  const forks = Array.from({ length: 17 }, () => story.say(bob, 'revise', {}, { past: [story.create] }))
  // Nobody may name more than sixteen parents either, so frank comes to know of them in two steps.
  story.say(frank, 'ack', {}, { past: forks.slice(0, 16) })
  const heads = forks.map((entry) => entry.id).toSorted()
  const known = [...story.entries()]
  const lowest = heads.slice(0, 16)
  expect(story.judge(story.draft(frank, 'revise', { base: heads.slice(1) }, { past: known }))).toMatchObject({
    refusal: 'base_not_heads',
  })
  const settled = story.say(frank, 'revise', { base: lowest }, { past: known })
  expect(recordHeads(story.graph).map((node) => node.entry.id)).toEqual(expect.arrayContaining([settled.id, heads[16]]))
  const last = story.say(frank, 'revise', { base: [settled.id, heads[16] ?? ''].toSorted() })
  expect(recordHeads(story.graph).map((node) => node.entry.id)).toEqual([last.id])
})
