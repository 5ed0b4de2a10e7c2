/** What doctor says of servers, mailboxes, clocks and a copied key: what was seen, why, and what to do next. */
import { describe, expect, test } from 'vitest'
import { TURNED_AWAY_REASONS } from '../../protocol/index.ts'
import { bootstrapFindings, clocksFinding, twinFinding } from '../../src/cli/doctor-network.ts'
import type { BootstrapServer, NodeStatus, TeammateDevice } from '../../src/node/api.ts'

const server = (change: Partial<BootstrapServer> = {}): BootstrapServer => ({
  host: 'relay.example:4001',
  peer_id: '12D3KooW',
  addresses: ['/dns4/relay.example/tcp/4001/p2p/12D3KooW'],
  named_by: 'team',
  connected: false,
  relaying: false,
  ...change,
})
const good = server({ host: 'other.example:4001', connected: true, relaying: true })

describe('a bootstrap server', () => {
  test('that works is so', () => {
    expect(bootstrapFindings([good])).toEqual([
      { check: 'bootstrap server', state: 'ok', evidence: 'other.example:4001 is connected' },
    ])
  })

  test('that answers with another key has failed, whatever else works', () => {
    const [finding] = bootstrapFindings([server({ last_failure: 'another key answers there: 12D3KooWOther' }), good])
    expect(finding).toMatchObject({
      state: 'failed',
      evidence: 'relay.example:4001: another key answers there: 12D3KooWOther',
      next: expect.stringContaining('the owner runs relay-node bootstrap drop OLD') as string,
    })
  })

  test('that is down has failed where it is the only one, and is a note beside one that works', () => {
    const down = server({ last_failure: 'nobody answers', named_by: 'settings' })
    expect(bootstrapFindings([down])[0]).toMatchObject({ state: 'failed' })
    expect(bootstrapFindings([down, good])[0]).toMatchObject({
      state: 'note',
      evidence: 'relay.example:4001: nobody answers',
      next: expect.stringContaining('in the settings') as string,
    })
  })

  test('that gives no place is a note', () => {
    const [finding] = bootstrapFindings([server({ connected: true, last_failure: 'it has no place left' })])
    expect(finding).toMatchObject({ state: 'note', evidence: 'relay.example:4001: it has no place left' })
  })

  test.each(TURNED_AWAY_REASONS)('that turned something away for %s is named with the next step', (why) => {
    const turned_away = [{ why, device: 'frank/frank-xps', at: '2026-01-05T09:00:00.000Z' }]
    const [, finding] = bootstrapFindings([{ ...good, mailbox: { left: 0, waiting: 0, turned_away } }])
    expect(finding).toMatchObject({ check: 'mailbox', state: 'note', cause: expect.any(String) as string })
    expect(finding?.evidence).toBe(
      `other.example:4001 took nothing more for frank/frank-xps at 2026-01-05T09:00:00.000Z: ${why}`,
    )
    expect(finding?.next?.length).toBeGreaterThan(20)
  })
})

const DAY_MS = 24 * 60 * 60 * 1000
const withClocks = (...skews: number[]): NodeStatus => {
  const devices = skews.map((skew, i) => ({ device: `t${i}/laptop`, clock_skew_ms: skew }) as TeammateDevice)
  return { teammates: devices.map((device) => ({ devices: [device] })) } as NodeStatus
}

describe('a clock', () => {
  test('that is right says nothing', () => {
    expect(clocksFinding({ teammates: [{ devices: [{ device: 'a/b' }] }] } as NodeStatus, 'now')).toBeUndefined()
    expect(clocksFinding(undefined, 'now')).toBeUndefined()
  })

  test('that differs from one teammate’s by days: one of the two is wrong', () => {
    expect(clocksFinding(withClocks(2 * DAY_MS), 'this laptop says noon')).toMatchObject({
      state: 'failed',
      evidence: 'this laptop says noon; t0/laptop is 2 days ahead',
      cause: expect.stringContaining('One of the two clocks') as string,
    })
    expect(clocksFinding(withClocks(-DAY_MS), 'now')?.evidence).toBe('now; t0/laptop is 24 h behind')
  })

  test('that differs from all teammates’ in one direction is this laptop’s', () => {
    expect(clocksFinding(withClocks(DAY_MS, DAY_MS + 1000), 'now')?.cause).toContain(
      'The clock of this laptop is wrong',
    )
    expect(clocksFinding(withClocks(DAY_MS, -DAY_MS), 'now')?.cause).toContain('One of the two')
  })
})

test('a second machine with the key of this laptop has failed', () => {
  expect(twinFinding({} as NodeStatus)).toMatchObject({ state: 'ok' })
  expect(
    twinFinding({ twin: 'another machine runs with this key: it answers at 11.0.0.9' } as NodeStatus),
  ).toMatchObject({
    state: 'failed',
    evidence: 'another machine runs with this key: it answers at 11.0.0.9',
    next: expect.stringContaining('relay-node init') as string,
  })
})
