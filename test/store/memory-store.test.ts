import { openMemoryStore } from '../../src/store/memory-store.ts'
import { storeContract } from './contract.ts'

storeContract('memory store', openMemoryStore)
