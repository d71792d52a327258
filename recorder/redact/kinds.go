package redact

import (
	"strings"
	"sync"
)

// kinds are four bytes of each literal, by bucket, such that little else is in a bucket:
// three are followed by what may follow. They were chosen by trying, on pages of text,
// code, JSON and base64; a literal that has none of them goes where it does the least
// harm, and is found all the same.
var kinds = [buckets]string{
	`app-,cbt-,cct-,cel_,ems_,ess-,exa_,fct-,fo1_,ghr_,ghu_,ive_,lrt-,na1-,ows/,oxs-,pat-,pat_,ppa_,ret-,ret_,rku-,ryu_,sec_,sgp_,sqa_,_v1_,dis-`,
	`:aa,eaaa,eaac,eaag,oas-,pa-,pass,jqqj`,
	`abia,acca,aida,akia,akid,aroa,asia,asic,att3,cred,ltai,lyv1,sk0,sk1,sk4,sk5,sk6,sk7,sk8,sk9,ska,skd,ske,skf`,
	`256~,ars_,csk_,dme_,e2b_,ess_,fm2_,glc_,ina_,key_,kua_,npm_,ntn_,org_,pka_,ppo_,pss_,ret_,rnd_,rys_,sbp_,tfp_,vcp_,_sk_,_v1_,ery_`,
	`aik_,api/,ckr_,csk-,csp-,gho_,ghp_,ghs_,gsk_,igd_,imt-,ive-,ive_,lft-,nfp_,oks/,ops_,oxc-,oxd-,oxo-,oxp-,oxr-,p8e-,pat-,pat_,rak-,rii-,rjs-,sdk-,sib-,sqp_,sv2_,ypi-,_pw_`,
	`aio_,aiza,akcp,cio,eyj,eyjr,oy2,sk2,sk3,skb,skc,mysq,ongo`,
	` -u ,--us,dapi,dt0c,dt0s,k-us,mtps,napi,\u00,_api,htpa,"-u,"ssn,"pw,"dsn,_dsn,te-l,-- b`,
	`dose,eare,ecre,ess-,hvb.,hvr.,hvs.,mak-,oken,oxa-,oxb-,oxe.,osqu,ok_u,ooku`,
	`a3-,ck.c,fc-,flws,hf_,m0-,md-,pk-,sg.,sk-,sk-a,sk-o,sk-p,sk.e,sk_,sk_l,sk_t,sl.,sm_a`,
	`1\/\,7q~,8q~,9q~,:\/\,fw_,or_v,r8_,t1.,v1.0,sqlc,twin,n_st,d_ph,@uni,-us`,
	`bsa,cvc,dp.p,dp.s,ldap`,
	`a29.,absk,api-,aqvn,atbb,cflt,eztk,dphr,eryp,@tcp`,
	`ale_,ant-,api-,atp-,bik_,ent-,ico-,ify_,ive_,key-,ldt-,lsa_,o-u-,oat-,oxe-,pat_,pca_,phx_,plx-,pnu_,ptt-,pul-,rod_,squ_,uth_,vly-,xai-,ions`,
	`1//0,://,auth,key,key-,k_te,re_,"pin`,
	`cook,egin,emon,ezak,gocs,gr13,sig=,sign,sion,ssws,ogin,smbc,_mmk,?cod,&cod`,
	`.atl,cmvm,ctt3,cvv,jwt,otp,pat,pat-,pat.,phps,pwd,s4t2,iadb`,
}

var kindsByText = sync.OnceValue(func() map[string][]int {
	by := map[string][]int{}
	for k, list := range kinds {
		for four := range strings.SplitSeq(list, ",") {
			by[folded(four)] = append(by[folded(four)], k)
		}
	}
	return by
})

// kindsOf returns the buckets that have four bytes of a literal.
func kindsOf(four string) []int { return kindsByText()[four] }
