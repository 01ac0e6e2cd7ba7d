"""torch.distributed.elastic.multiprocessing: what torchrun's programs import."""
