/** The STUN server: tells a laptop how the internet sees it, so that two behind routers can reach each other. */
import { createSocket, type Socket } from 'node:dgram'
import { createAllowance } from '../allowance.ts'
import { sourceOf } from '../ip-address.ts'
import { NetError } from '../net/net.ts'
import type { System } from '../system.ts'
import { answerBinding } from './stun-message.ts'

/** Questions that a source may ask at once, and again after a minute: enough for an office behind one router, too few to flood whoever's address was forged. */
const QUESTIONS_PER_MINUTE = 120
const MINUTE_MS = 60_000

export interface StunFacts {
  answered: number
  /** Packets that are no binding request. */
  ignored: number
  /** Questions beyond the rate of their source. */
  limited: number
}

export interface StunServer {
  readonly port: number
  facts(): StunFacts
  stop(): Promise<void>
}

/** Listens on UDP, IPv4 and, where the machine has it, IPv6; port 0 takes a free one. Rejects with NetError. */
export async function startStun(port: number, { clock, log }: System): Promise<StunServer> {
  const facts: StunFacts = { answered: 0, ignored: 0, limited: 0 }
  const questions = createAllowance({ clock, burst: QUESTIONS_PER_MINUTE, refillMs: MINUTE_MS })

  function serve(socket: Socket): void {
    socket.on('error', (error) => log.warn('stun socket failed', { error: String(error) }))
    socket.on('message', (packet, { address, port: from }) => {
      const answer = answerBinding(packet, address, from)
      if (answer === undefined) facts.ignored += 1
      else if (!questions.take(sourceOf(address))) facts.limited += 1
      else {
        facts.answered += 1
        socket.send(answer, from, address)
      }
    })
  }

  const four = await bound('udp4', port)
  const sockets = [four]
  const taken = four.address().port
  try {
    sockets.push(await bound('udp6', taken))
  } catch (error) {
    if (error instanceof NetError && error.code === 'NET_ADDRESS_IN_USE') {
      four.close()
      throw error
    }
    log.info('stun without IPv6', { error: String(error) })
  }
  sockets.forEach(serve)
  return {
    port: taken,
    facts: () => facts,
    stop: async () => {
      await Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.close(() => resolve()))))
    },
  }
}

function bound(type: 'udp4' | 'udp6', port: number): Promise<Socket> {
  const socket = createSocket({ type, ipv6Only: type === 'udp6' })
  return new Promise((resolve, reject) => {
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close()
      reject(
        error.code === 'EADDRINUSE'
          ? new NetError('NET_ADDRESS_IN_USE', `another program uses UDP port ${port}`, error)
          : new NetError('NET_FAILED', `cannot open UDP port ${port}: ${error.message}`, error),
      )
    })
    socket.bind(port, () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
  })
}
