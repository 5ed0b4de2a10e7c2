import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { fromHex, toHex } from '../../protocol/index.ts'
import { startStun } from '../../src/bootstrap/stun.ts'
import { answerBinding } from '../../src/bootstrap/stun-message.ts'
import { realSystem } from '../../src/system.ts'
import { until } from '../cli/laptop.ts'

/** Transaction id, address and port of the examples in RFC 5769, 2.2 and 2.3. */
const ID = 'b7e7a701bc34d686fa87dfae'
const HEADER = `2112a442${ID}`
const QUESTION = fromHex(`00010000${HEADER}`)

const attribute = (type: string, value: string): string =>
  `${type}${(value.length / 2).toString(16).padStart(4, '0')}${value}${'00'.repeat((4 - ((value.length / 2) % 4)) % 4)}`
const question = (...attributes: string[]): Uint8Array => {
  const rest = attributes.join('')
  return fromHex(`0001${(rest.length / 2).toString(16).padStart(4, '0')}${HEADER}${rest}`)
}
const answer = (packet: Uint8Array, address = '192.0.2.1'): string | undefined => {
  const bytes = answerBinding(packet, address, 32_853)
  return bytes && toHex(bytes)
}

describe('a binding request', () => {
  test('is answered with the address it came from, hidden as RFC 5769 shows it', () => {
    expect(answer(QUESTION)).toBe(`0101000c${HEADER}002000080001a147e112a643`)
    expect(answer(QUESTION, '2001:db8:1234:5678:11:2233:4455:6677')).toBe(
      `01010018${HEADER}002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9`,
    )
  })

  test('that came as IPv4 on a socket for both gets its IPv4 address', () => {
    expect(answer(QUESTION, '::ffff:192.0.2.1')).toBe(answer(QUESTION))
  })

  test('may carry attributes that need not be understood', () => {
    expect(answer(question(attribute('8022', toHex(Buffer.from('client'))), attribute('8028', '01020304')))).toBe(
      answer(QUESTION),
    )
  })

  test('with attributes that have to be understood is refused with their names', () => {
    expect(answer(question(attribute('0006', 'aabbcc'), attribute('0024', '00000001')))).toBe(
      `01110010${HEADER}${attribute('0009', '00000414')}${attribute('000a', '00060024')}`,
    )
  })

  test('is never answered with more than 24 bytes beyond its own', () => {
    const many = question(...Array.from({ length: 300 }, () => attribute('0006', '')))
    for (const packet of [QUESTION, question(attribute('0006', '')), many])
      for (const address of ['192.0.2.1', '2001:db8::1'])
        expect((answer(packet, address) ?? '').length / 2).toBeLessThanOrEqual(packet.length + 24)
  })
})

test.each([
  ['nothing', new Uint8Array()],
  ['half a header', QUESTION.subarray(0, 19)],
  ['another magic', fromHex(`0001000021120000${ID}`)],
  ['a response', fromHex(`01010000${HEADER}`)],
  ['an allocation', fromHex(`00030000${HEADER}`)],
  ['a length that is not its own', fromHex(`00010008${HEADER}`)],
  ['an attribute that goes beyond the end', fromHex(`00010004${HEADER}80220008`)],
  ['bytes after its end', fromHex(`00010000${HEADER}00`)],
])('%s is not answered', (_, packet) => {
  expect(answer(packet)).toBeUndefined()
})

test.for(['udp4', 'udp6'] as const)(
  'answers on %s, ignores the rest and slows down who asks too much',
  async (type, { skip }) => {
    const host = type === 'udp4' ? '127.0.0.1' : '::1'
    const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
    skip(!addresses.some(({ address }) => address === host), `this machine has no address ${host}`)
    const server = await startStun(0, realSystem())
    const socket = createSocket(type)
    try {
      const ask = async (): Promise<Buffer> => {
        const heard = once(socket, 'message') as Promise<[Buffer]>
        socket.send(QUESTION, server.port, host)
        return (await heard)[0]
      }
      socket.send('what is this?', server.port, host)
      const first = await ask()
      const { port, address } = socket.address()
      expect(port).toBe(first.readUInt16BE(26) ^ 0x2112)
      expect(address).not.toBe('')
      expect(server.facts()).toEqual({ answered: 1, ignored: 1, limited: 0 })
      for (let asked = 1; asked < 120; asked++) await ask()
      socket.send(QUESTION, server.port, host)
      await until(() => server.facts().limited > 0)
      expect(server.facts()).toMatchObject({ ignored: 1, limited: 1 })
    } finally {
      socket.close()
      await server.stop()
    }
  },
)

test('a UDP port that is taken is named', async () => {
  const server = await startStun(0, realSystem())
  await expect(startStun(server.port, realSystem())).rejects.toThrow(`another program uses UDP port ${server.port}`)
  await server.stop()
})
