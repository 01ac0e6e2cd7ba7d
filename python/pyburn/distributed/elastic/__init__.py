"""torch.distributed.elastic: what torchrun's programs import."""
